// why: masks that name just the lanes that come, however the condition is written (G-2.1)

__global__ void all_lanes(int *out) {
  out[threadIdx.x] = 1;
  __syncwarp(~0u);
  out[threadIdx.x + 1] = 2;
}

__global__ void even_lanes(int *values) {
  unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (!(index % 2)) {
    values[index] += values[index + 1];
    __syncwarp(0x55555555u);
    values[index] += 1;
  }
}

__global__ void one_warp(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x < 32) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  out[threadIdx.x] = value;
}

__global__ void ended_lanes(int *out, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  int value = out[index];
  out[index] = value + __shfl_down_sync(0xffffffffu, value, 1);
}

__global__ void voted_lanes(int *out) {
  int value = out[threadIdx.x];
  unsigned takers = __ballot_sync(0xffffffffu, value > 3);
  if (value > 3) value = __shfl_sync(takers, value, __ffs(takers) - 1);
  out[threadIdx.x] = value;
}

__global__ void given_mask(int *out, unsigned mask) {
  int value = out[threadIdx.x];
  if (threadIdx.x & 1) value = __shfl_sync(mask, value, 1);
  out[threadIdx.x] = value;
}

__global__ void broadcast(int *out, int value) {
  unsigned lane = threadIdx.x & 31;
  int got = 0;
  if (lane == 0) got = value;
  got = __shfl_sync(~0u, got, 0);
  if (got != value) __trap();
  out[threadIdx.x] = got;
}
