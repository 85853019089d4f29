// fix: the barrier stands where all threads come

__global__ void __launch_bounds__(32) pairs(float *out) {
  __shared__ float kept[32];
  int t = threadIdx.x;
  kept[t] = out[t];
  __syncthreads();
  float mine = kept[t];
  __syncthreads();
  if (t % 2 == 0) kept[t ^ 1] = mine;
  __syncthreads();
  out[t] = kept[t];
}
