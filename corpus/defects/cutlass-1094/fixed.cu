// fix: the mask names all lanes

__global__ void tile_of_warp(float *out) {
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  out[warp * 32 + threadIdx.x % 32] = warp;
}
