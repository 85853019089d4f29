// source: https://github.com/NVIDIA/cub/issues/154
// defect: a scan of groups of eight lanes has the mask of the whole warp, and groups leave the loop around it on their own
// class: B
// when: a warp whose groups have different counts
// found: potential

__device__ int scan(int value) {
  for (int offset = 1; offset < 8; offset *= 2) {
    int other = __shfl_up_sync(0xffffffff, value, offset, 8);  //~ PTX401 PTX402 PTX404
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
