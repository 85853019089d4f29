// source: https://github.com/NVIDIA/cutlass/issues/1094
// defect: the member mask is 0x1f, five lanes, where all 32 broadcast the number of their warp
// class: A
// found: default

__global__ void tile_of_warp(float *out) {
  int warp = __shfl_sync(0x1f, threadIdx.x / 32, 0);  //~ PTX403
  out[warp * 32 + threadIdx.x % 32] = warp;
}
