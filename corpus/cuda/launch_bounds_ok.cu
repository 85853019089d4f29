// why: launch bounds and full masks agree as long as the bound is whole warps

__global__ void __launch_bounds__(256, 2) bounded(int *out) {
  out[threadIdx.x] += __shfl_xor_sync(0xffffffffu, out[threadIdx.x], 16);
}

__global__ void __launch_bounds__(32) one_warp(int *out) {
  unsigned positive = __ballot_sync(0xffffffffu, out[threadIdx.x] > 0);
  __syncwarp();
  if (threadIdx.x == 0) out[0] = __popc(positive);
}
