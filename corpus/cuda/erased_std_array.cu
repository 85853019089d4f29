// why: a std::array at namespace scope lives on the host; its operator[] gets address 0 as `this`
// compilers: nvcc
// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX106
// nvcc-flags: --expt-relaxed-constexpr

#include <array>

constexpr std::array<int, 4> weights{1, 2, 4, 8};

constexpr int weight(int i) { return weights[i]; }  //~[G] PTX106?

__global__ void weigh(int *out) {  //~[sm_90-O3] PTX107
  //~~[sm_120-O3] PTX107
  out[threadIdx.x] = weight(threadIdx.x & 3);
}
