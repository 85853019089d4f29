// why: a mask of 0 that comes from a variable, an inlined helper or an argument is the same defect as a literal 0

constexpr unsigned no_lanes = 0;

__global__ void from_constant(int *out) {
  out[threadIdx.x] = __shfl_xor_sync(no_lanes, out[threadIdx.x], 1);  //~ PTX407
}

__global__ void from_arithmetic(int *out) {
  unsigned low_half = 0xffffu;
  unsigned high_half = low_half << 16;
  unsigned both = low_half & high_half;  // was meant to be |
  out[threadIdx.x] = __shfl_xor_sync(both, out[threadIdx.x], 1);  //~ PTX407
}

__forceinline__ __device__ int neighbour(unsigned mask, int value) {
  return __shfl_down_sync(mask, value, 1);  //~ PTX407
}

__global__ void from_inlined_helper(int *out) {
  out[threadIdx.x] = neighbour(0, out[threadIdx.x]);
}

__noinline__ __device__ int far_neighbour(unsigned mask, int value) {
  return __shfl_down_sync(mask, value, 8);  //~ PTX407
}

__global__ void from_argument(int *out) {
  out[threadIdx.x] = far_neighbour(0, out[threadIdx.x]);
}
