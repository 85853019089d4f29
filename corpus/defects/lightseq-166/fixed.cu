// fix: the block has whole warps

__device__ float block_sum(float value) {
  __shared__ float partial[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < (blockDim.x >> 5) ? partial[lane] : 0;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

__global__ void __launch_bounds__(96) norms(const float *in, float *out) {
  float sum = block_sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}
