// why: code that only blocks of less than a warp, or of no whole warps, come to is not reached in blocks of whole warps
#define FULL 0xffffffffu

// launched with 8, 16 or more threads
__global__ void by_size(int *io) {
  int v = io[threadIdx.x];
  if (blockDim.x <= 8) v += __ballot_sync(0x000000ffu, v & 1);
  else if (blockDim.x <= 16) v += __ballot_sync(0x0000ffffu, v & 1);
  else v += __ballot_sync(FULL, v & 1);
  io[threadIdx.x] = v;
}

__global__ void by_threads(int *io) {
  if (blockDim.x * blockDim.y * blockDim.z <= 16)
    io[threadIdx.x] += __ballot_sync(0x0000ffffu, io[threadIdx.x] & 1);
}

__global__ void exactly_20(int *io) {
  if (blockDim.x * blockDim.y * blockDim.z == 20)
    io[threadIdx.x] += __ballot_sync(0x000fffffu, io[threadIdx.x] & 1);
}

__global__ void less_than_a_warp(int *io) {
  int v = io[threadIdx.x];
  v += blockDim.x < 32 ? __shfl_down_sync((1u << blockDim.x) - 1, v, 1) : __shfl_down_sync(FULL, v, 1);
  io[threadIdx.x] = v;
}

__global__ void no_warp(int *io) {
  if (blockDim.x / 32 == 0) io[threadIdx.x] = __any_sync(0x0000ffffu, io[threadIdx.x]);
}

__global__ void no_whole_warps(int *io) {
  if (blockDim.x % 32 != 0) {
    if (threadIdx.x < 16) io[threadIdx.x] = __ballot_sync(0x000000ffu, io[threadIdx.x]) & 0xff;
  }
}

// any number of threads: the last warp takes the mask of those that exist
__global__ void tail(int *io) {
  int v = io[threadIdx.x];
  int rest = blockDim.x & 31;
  if (threadIdx.x >= (blockDim.x & ~31u)) v = __shfl_sync((1u << rest) - 1, v, 0);
  else v = __shfl_sync(FULL, v, 0);
  io[threadIdx.x] = v;
}

__global__ void tail_by_warp(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.x / 32 == blockDim.x / 32) v = __shfl_sync((1u << blockDim.x % 32) - 1, v, 0);
  else v = __shfl_sync(FULL, v, 0);
  io[threadIdx.x] = v;
}

__global__ void small_blocks_use_a_small_table(int *io) {
  __shared__ int small[16];
  if (blockDim.x <= 16) {
    small[threadIdx.x] = io[threadIdx.x];
    __syncthreads();
    io[threadIdx.x] = small[blockDim.x - 1 - threadIdx.x];
  }
}
