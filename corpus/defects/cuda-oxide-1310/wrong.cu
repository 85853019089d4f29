// source: https://github.com/NVlabs/cuda-oxide/issues/1310
// defect: a reduction over a block of 48 threads shuffles with the mask of 32 lanes in the last warp of 16
// class: B
// when: blocks of 48 threads
// launch: --launch-block 48
// found: its launch

__global__ void totals(const int *in, int *out) {
  __shared__ int partial[2];
  int sum = in[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);  //~ PTX404 PTX413
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *out = partial[0] + partial[1];
}
