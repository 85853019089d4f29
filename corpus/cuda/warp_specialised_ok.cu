// why: warps with roles: conditions that are one for a whole warp, and named barriers with a count
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX404 -W potential:PTX406

__device__ int sum_of_warp(int value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__device__ void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ void wait(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__global__ void __launch_bounds__(128) producer_and_consumers(int *out, const int *in, int rounds) {
  __shared__ int buffer[32];
  int warp = threadIdx.x / 32;
  for (int round = 0; round < rounds; ++round) {
    if (warp == 0) {
      buffer[threadIdx.x] = sum_of_warp(in[round * 32 + threadIdx.x]);
      arrive(1, 128);
      wait(2, 128);
    } else {
      wait(1, 128);
      out[round * 128 + threadIdx.x] = sum_of_warp(buffer[threadIdx.x & 31]);
      arrive(2, 128);
    }
  }
}

// The index is taken from lane 0, so that the compiler knows that it is one for the warp.
__global__ void roles_by_switch(int *out) {
  int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  int value = out[threadIdx.x];
  switch (warp) {
  case 0:
    value = __any_sync(0xffffffffu, value > 3);
    break;
  case 1:
  case 2:
    value = sum_of_warp(value);
    __syncwarp();
    break;
  default:
    value = __shfl_sync(0xffffffffu, value, 5);
    break;
  }
  out[threadIdx.x] = value;
}

__global__ void last_warp(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x >= blockDim.x - 32) value = sum_of_warp(value);
  out[threadIdx.x] = value;
}
