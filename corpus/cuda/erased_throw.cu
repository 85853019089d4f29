// why: device code cannot throw; in a constexpr function nvcc drops the throwing path, and the kernel runs off its end
// compilers: nvcc
// targets: sm_75 sm_90
// ptxcheck-args: -W potential:PTX107
// nvcc-flags: --expt-relaxed-constexpr
constexpr int checked(int i) { return i < 8 ? i : throw "out of range"; }  //~[G] PTX106

__global__ void store_checked(int *out, int i) {  //~[O3] PTX107?
  out[0] = checked(i);
}
