// source: https://github.com/llnl/smith/issues/486
// defect: a constexpr function indexes a static constexpr array of a class, which lies on the host alone
// class: A
// nvcc-flags: -std=c++17 --expt-relaxed-constexpr
// found: default

struct Element {
  static constexpr int sizes[3] = {6, 28, 496};
  static constexpr int size(int i) { return sizes[i]; }
};

__global__ void sizes_of(int *out) {  //~~ PTX107
  out[threadIdx.x] = Element::size(threadIdx.x);
}
