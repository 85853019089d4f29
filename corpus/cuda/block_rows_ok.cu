// why: rows of two- and three-dimensional blocks fold into warps: lanes are numbered by x, then y, then z
// Each kernel is right for the launch that its comment names. What is certain must be so in all shapes of blocks.
#define FULL 0xffffffffu

__device__ unsigned rank_of() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ __noinline__ int sum_of_16(unsigned mask, int v) {
  for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(mask, v, d);
  return v;
}

__device__ __noinline__ int in_row(unsigned row, int v) {
  return row == 0 ? sum_of_16(0x0000ffffu, v) : v;
}

// dim3(16, 16)
__global__ void first_row(int *io) {
  int v = io[threadIdx.y * 16 + threadIdx.x];
  if (threadIdx.y == 0) v += __shfl_xor_sync(0x0000ffffu, v, 1);
  io[threadIdx.y * 16 + threadIdx.x] = v;
}

// dim3(16, 16)
__global__ void row_of_caller(int *io) {
  io[threadIdx.y * 16 + threadIdx.x] = in_row(threadIdx.y, io[threadIdx.x]);
}

// dim3(16, 16): the last row is the second half of its warp
__global__ void last_row(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.y == blockDim.y - 1) v += __shfl_xor_sync(0xffff0000u, v, 1);
  io[threadIdx.y * 16 + threadIdx.x] = v;
}

// dim3(16, 8): rows in turns
__global__ void rows_in_turns(int *io, int rows) {
  int v = 0;
  for (unsigned row = threadIdx.y; row < (unsigned)rows * 8; row += blockDim.y)
    v += __shfl_down_sync(threadIdx.y & 1 ? 0xffff0000u : 0x0000ffffu, io[row * 16 + threadIdx.x], 8, 16);
  io[threadIdx.y * 16 + threadIdx.x] = v;
}

// dim3(8, 8): four rows a warp
__global__ void one_of_four(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.y % 4 == 1) v += __shfl_xor_sync(0x0000ff00u, v, 4);
  if (threadIdx.y % 4 == 3) v += __shfl_xor_sync(0xff000000u, v, 4);
  io[threadIdx.y * 8 + threadIdx.x] = v;
}

// dim3(8, 8)
__global__ void half_of_a_warp(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.y % 4 < 2) v += __ballot_sync(0x0000ffffu, v > 0);
  else v += __ballot_sync(0xffff0000u, v > 0);
  io[threadIdx.y * 8 + threadIdx.x] = v;
}

// dim3(4, 4, 8): two layers a warp
__global__ void layer(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.z == 0) v += __shfl_xor_sync(0x0000ffffu, v, 4);
  if (threadIdx.z == 7) v += __shfl_xor_sync(0xffff0000u, v, 4);
  io[rank_of()] = v;
}

// dim3(4, 4, 8)
__global__ void column_of_layers(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.x == 0 && threadIdx.y == 0) v += __any_sync(0x00010001u, v);
  io[rank_of()] = v;
}

// dim3(8, 4): the first column
__global__ void first_column(int *io) {
  if (threadIdx.x == 0) io[threadIdx.y] = __shfl_xor_sync(0x01010101u, io[threadIdx.y], 8);
}

// dim3(1, 64): the column is the warp
__global__ void only_column(int *io) {
  if (threadIdx.x == 0) io[threadIdx.y] = __shfl_xor_sync(FULL, io[threadIdx.y], 8);
}

// dim3(2, 32)
__global__ void even_lanes(int *io) {
  if (threadIdx.x == 0) io[threadIdx.y] = __shfl_xor_sync(0x55555555u, io[threadIdx.y], 2);
}

// dim3(32, 8)
__global__ void row_is_a_warp(int *io) {
  int v = io[threadIdx.x];
  if (threadIdx.y == 0) v += __shfl_xor_sync(FULL, v, 16);
  if (threadIdx.x < 16) v += __shfl_xor_sync(0x0000ffffu, v, 8);
  io[threadIdx.y * 32 + threadIdx.x] = v;
}

// dim3(64, 4)
__global__ void first_warp_of_a_row(int *io) {
  if (threadIdx.x < 32) io[threadIdx.x] = __ballot_sync(FULL, io[threadIdx.x]);
}

// dim3(16, 4): two rows are a warp
__global__ void rows_leave(int *io) {
  if (threadIdx.y >= 2) return;
  __syncwarp();
  io[threadIdx.x] = __shfl_sync(FULL, io[threadIdx.x], 31);
}

// dim3(16, 2): threads of the second row leave
__global__ void second_row_leaves(int *io) {
  if (threadIdx.y == 1) return;
  io[threadIdx.x] = sum_of_16(0x0000ffffu, io[threadIdx.x]);
}

// any shape
__global__ void first_warp(int *io) {
  unsigned rank = rank_of();
  if (rank < 32) io[rank] = __ballot_sync(FULL, io[rank]);
}

// any shape
__global__ void first_half(int *io) {
  unsigned rank = rank_of();
  if (rank < 16) io[rank] = sum_of_16(0x0000ffffu, io[rank]);
}

// any shape
__global__ void half_of_each_warp(int *io) {
  unsigned lane = rank_of() & 31;
  if (lane >= 16) io[rank_of()] = __shfl_xor_sync(0xffff0000u, io[lane], 4);
}

// dim3(20, 8): 160 threads are five warps
__global__ void whole_warps(int *io) {
  unsigned rank = threadIdx.y * 20 + threadIdx.x;
  int v = __shfl_down_sync(FULL, io[rank], 1);
  if (rank >> 5 == 2) v += __ballot_sync(FULL, v);
  io[rank] = v;
}

// at least eight threads a row
__global__ void eight(int *io) {
  if (threadIdx.y == 0 && threadIdx.z == 0 && threadIdx.x < 8)
    io[threadIdx.x] = __ballot_sync(0x000000ffu, io[threadIdx.x]);
}

// states its block itself
__global__ void only_16_by_2(int *io) {
  if (blockDim.x != 16 || blockDim.y != 2) return;
  int v = io[threadIdx.x];
  if (threadIdx.y == 0) v = sum_of_16(0x0000ffffu, v);
  else v = sum_of_16(0xffff0000u, v);
  io[threadIdx.x] = v;
}

// dim3(16, 2): a row that lanes find by a mask of their own
__global__ void mask_by_row(int *io) {
  unsigned mask = 0xffffu << (threadIdx.y % 2 * 16);
  io[threadIdx.y * 16 + threadIdx.x] = sum_of_16(mask, io[threadIdx.x]);
}

// dim3(8, 2, 2): the layers are halves
__global__ void barrier_of_a_layer(int *io) {
  __shared__ int part[32];
  part[threadIdx.y * 8 + threadIdx.x] = io[threadIdx.x];
  if (threadIdx.z == 0) __syncwarp(0x0000ffffu);
  else __syncwarp(0xffff0000u);
  io[rank_of()] = part[threadIdx.x];
}
