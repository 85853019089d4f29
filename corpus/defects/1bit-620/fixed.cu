// fix: the barrier stands behind the branch

__device__ float block_sum(float value, float *partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < 8 ? partial[threadIdx.x] : 0;
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    if (threadIdx.x == 0) partial[0] = value;
  }
  __syncthreads();
  return partial[0];
}

__global__ void __launch_bounds__(256) normalise(float *x) {
  __shared__ float partial[8];
  float sum = block_sum(x[threadIdx.x], partial);
  x[threadIdx.x] /= sum;
}
