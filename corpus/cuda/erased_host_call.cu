// why: a constexpr function calls one of the host, and nvcc leaves a kernel that returns, or nothing
// ptxcheck-args: -W potential:PTX107
// compilers: nvcc
// nvcc-flags: -std=c++17 --expt-relaxed-constexpr

int doubled(int x);

constexpr int pick(int x) {
  return doubled(x);  //~[G] PTX106
}

__global__ void erased(int *out, int i) {  //~[sm_75-O3,sm_90-O3] PTX107?
  //~~[sm_120-O3] PTX107
  out[0] = pick(i);
}
