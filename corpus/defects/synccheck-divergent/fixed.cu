// fix: all make the same number of rounds

__shared__ int kept[64];

__global__ void __launch_bounds__(64) rounds(int *out) {
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    kept[threadIdx.x] = sum + i;
    __syncthreads();
    sum += kept[threadIdx.x ^ 1];
    __syncthreads();
  }
}
