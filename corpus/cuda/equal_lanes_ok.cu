// why: constants that name just the lanes of the condition, in the ways that sources write the condition
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX404 -W potential:PTX406

__global__ void first_half(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    for (int offset = 8; offset > 0; offset /= 2) value += __shfl_xor_sync(0x0000ffffu, value, offset);
  }
  out[threadIdx.x] = value;
}

__global__ void four_lanes_of_eight(int *out) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  int value = out[threadIdx.x];
  if ((lane & 7) < 4) value = __shfl_xor_sync(0x0f0f0f0fu, value, 3);
  out[threadIdx.x] = value;
}

__global__ void each_side_its_own(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x & 16) {
    value = __shfl_xor_sync(0xffff0000u, value, 8);
  } else {
    value = __shfl_xor_sync(0x0000ffffu, value, 4);
  }
  out[threadIdx.x] = value;
}

__global__ void halves(int *out) {
  unsigned mask = 0xffffu << (threadIdx.x & 16);
  int value = out[threadIdx.x];
  value += __shfl_xor_sync(mask, value, 8, 16);
  __syncwarp(mask);
  out[threadIdx.x] = value + __any_sync(mask, value > 3);
}

__global__ void lanes_up_to(int *out) {
  int value = out[threadIdx.x];
  int lane = threadIdx.x & 31;
  switch (lane) {
  case 0:
  case 1:
    value = __shfl_xor_sync(3u, value, 1);
    break;
  case 31:
    value = __shfl_sync(0x80000000u, value, 31);
    break;
  default:
    value = __shfl_sync(0x7ffffffcu, value, 2);
    break;
  }
  out[threadIdx.x] = value;
}
