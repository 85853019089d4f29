// source: https://github.com/bytedance/lightseq/issues/166
// defect: a block reduction reads as many partial sums as blockDim.x / 32, rounded down, and shuffles in a warp that is not full
// class: B
// when: blocks of 80 threads
// launch: --launch-block 80
// found: its launch

__device__ float block_sum(float value) {
  __shared__ float partial[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);  //~ PTX404 PTX413
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < (blockDim.x >> 5) ? partial[lane] : 0;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

__global__ void norms(const float *in, float *out) {
  float sum = block_sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}
