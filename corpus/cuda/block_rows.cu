// why: wrong in blocks of any shape, though the kernels read threadIdx.y or threadIdx.z
#define FULL 0xffffffffu

__device__ unsigned rank_of() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ unsigned lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__global__ void half_with_full_mask(int *io) {
  unsigned rank = rank_of();
  int v = io[rank];
  if (rank < 16) v += __ballot_sync(FULL, v);  //~ PTX401
  io[rank] = v;
}

__global__ void flat_half(int *io) {
  unsigned rank = threadIdx.y * blockDim.x + threadIdx.x;
  if (rank < 16) io[rank] = __any_sync(0x000000ffu, io[rank]);  //~ PTX403
}

__global__ void lane_without_warp(int *io) {
  unsigned lane = lane_id();
  int v = io[lane];
  if (lane < 8) v += __any_sync(FULL, v);  //~ PTX401
  io[threadIdx.y * 32 + lane] = v;
}

__global__ void mask_of_nobody(int *io) {
  io[rank_of()] = __ballot_sync(0, io[threadIdx.y]);  //~ PTX407
}

__global__ void mask_too_small(int *io) {
  io[rank_of()] = __ballot_sync(0x7fffffffu, io[threadIdx.y]);  //~ PTX403
}
