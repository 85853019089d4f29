// why: a scan over half a warp whose last step reads lanes that are elsewhere: nobody adds what it gets

__global__ void last_step(int *out) {
  unsigned lane = threadIdx.x & 31;
  int value = out[threadIdx.x];
  if (lane >= 16) {
    for (unsigned step = 1; step <= 16; step *= 2) {
      int below = __shfl_up_sync(0xffff0000u, value, step);
      if (lane - 16 >= step) value += below;
    }
    out[threadIdx.x] = value;
  } else {
    out[threadIdx.x] = -value;
  }
}

__global__ void dropped(int *out) {
  unsigned lane = threadIdx.x & 31;
  if (lane >= 16) {
    __shfl_up_sync(0xffff0000u, lane, 16);
  }
  out[threadIdx.x] = lane;
}

__global__ void half_of_the_time(int *out, int n) {
  unsigned lane = threadIdx.x & 31;
  if (lane >= 16) {
    int below = __shfl_up_sync(0xffff0000u, lane, 16);
    if (n > 3) out[threadIdx.x] = below;
  } else {
    out[threadIdx.x] = lane;
  }
}
