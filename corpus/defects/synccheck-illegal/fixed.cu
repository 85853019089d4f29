// fix: the condition is the one of the ballot

__shared__ int kept[32];

__global__ void sums(int *out) {
  unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < 16);
  kept[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 16) {
    __syncwarp(mask);
    out[threadIdx.x] = kept[threadIdx.x / 2];
  }
}
