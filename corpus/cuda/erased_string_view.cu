// why: a std::string_view at namespace scope lives on the host; its pointer is read from offset 8 of address 0
// compilers: nvcc
// targets: sm_90 sm_120
// nvcc-flags: --expt-relaxed-constexpr

#include <string_view>

constexpr std::string_view alphabet = "acgt";

constexpr int letter(int i) { return alphabet[i]; }  //~ PTX106

__global__ void spell(int *out) {
  out[threadIdx.x] = letter(threadIdx.x & 3);
}
