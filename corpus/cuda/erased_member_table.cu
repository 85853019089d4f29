// why: the same with a static constexpr member, which C++ calls inline and nvcc still leaves on the host
// compilers: nvcc
// targets: sm_75 sm_90
// nvcc-flags: --expt-relaxed-constexpr

struct Gauss {
  static constexpr float weights[4] = {0.4f, 0.3f, 0.2f, 0.1f};
  static constexpr float weight(int i) { return weights[i]; }
};

__global__ void blur(float *out, int i) {  //~[O3] PTX107
  out[threadIdx.x] *= Gauss::weight(i);
}
