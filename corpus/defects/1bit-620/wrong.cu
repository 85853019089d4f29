// source: https://github.com/1bit-MONSTER/1bit-MONSTER/issues/620
// defect: the last step of a block sum, with its barrier, is left to the first warp
// class: C
// when: whole warps skip the barrier, and end; until then they read the sum before it is there
// found: potential

__device__ float block_sum(float value, float *partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < 8 ? partial[threadIdx.x] : 0;
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    if (threadIdx.x == 0) partial[0] = value;
    __syncthreads();  //~ PTX411
  }
  return partial[0];
}

__global__ void __launch_bounds__(256) normalise(float *x) {
  __shared__ float partial[8];
  float sum = block_sum(x[threadIdx.x], partial);
  x[threadIdx.x] /= sum;
}
