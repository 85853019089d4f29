// why: std::optional::value() throws where it is empty; device code cannot, and loses the check or the path
// compilers: nvcc
// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX107
// nvcc-flags: --expt-relaxed-constexpr

#include <optional>

__global__ void take(int *out, int i) {  //~[sm_90-O3] PTX107?
  std::optional<int> value;
  if (i > 3) value = i;
  out[0] = value.value();  //~[G] PTX106
}
