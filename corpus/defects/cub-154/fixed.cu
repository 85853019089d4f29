// fix: each group has a mask of its own
// left: PTX402

__device__ int scan(int value) {
  unsigned mask = 0xffu << threadIdx.x % 32 / 8 * 8;
  for (int offset = 1; offset < 8; offset *= 2) {
    int other = __shfl_up_sync(mask, value, offset, 8);
    if (threadIdx.x % 8 >= offset) value += other;
  }
  return value;
}

__global__ void neighbours(const int *counts, int *out) {
  int group = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  int left = counts[group], sum = 0;
  while (left > 0) {
    sum += scan(left);
    left -= 8;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
