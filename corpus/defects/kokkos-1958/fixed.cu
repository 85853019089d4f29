// fix: the number is divided by the width

__device__ int reduce(int value) {
  const int width = 8;
  unsigned mask = ((1u << width) - 1) << threadIdx.x % 32 / width * width;
  for (int delta = 1; delta < width; delta *= 2) {
    value += __shfl_down_sync(mask, value, delta, width);
  }
  return value;
}

__global__ void __launch_bounds__(256) sums(const int *in, int *out) {
  int sum = reduce(in[threadIdx.x]);
  if (threadIdx.x % 8 == 0) out[threadIdx.x / 8] = sum;
}
