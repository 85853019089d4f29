// why: taking a constexpr member by reference, as std::max does, needs its address, and that is the host's
// compilers: nvcc
// targets: sm_75 sm_90
// nvcc-flags: --expt-relaxed-constexpr

#include <algorithm>

struct Limits {
  static constexpr int least = 16;
};

constexpr int at_least(int n) { return std::max(Limits::least, n); }  //~[G] PTX106

__global__ void clamp(int *out) {  //~[O3] PTX107
  out[threadIdx.x] = at_least(out[threadIdx.x]);
}
