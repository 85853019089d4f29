// fix: the last warp folds the lanes that it has
// launch: --launch-block 48

__global__ void __launch_bounds__(48) totals(const int *in, int *out) {
  __shared__ int partial[2];
  int sum = in[threadIdx.x];
  if (threadIdx.x < 32) {
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  } else {
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(0x0000ffff, sum, offset);
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *out = partial[0] + partial[1];
}
