// why: widths that are powers of two up to 32, written or computed, and a width that only the caller knows

template <int width>
__global__ void fixed(int *out) {
  int value = out[threadIdx.x];
  value += __shfl_down_sync(0xffffffffu, value, 1, width);
  value += __shfl_up_sync(0xffffffffu, value, 1, width);
  value += __shfl_xor_sync(0xffffffffu, value, 1, width);
  value += __shfl_sync(0xffffffffu, value, 0, width);
  out[threadIdx.x] = value;
}

template __global__ void fixed<2>(int *);
template __global__ void fixed<8>(int *);
template __global__ void fixed<16>(int *);
template __global__ void fixed<32>(int *);

__global__ void from_host(int *out, int width) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, out[threadIdx.x], 0, width);
}

__global__ void wide_values(double *out) {
  out[threadIdx.x] += __shfl_down_sync(0xffffffffu, out[threadIdx.x], 4, 8);
}
