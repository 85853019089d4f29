// why: scans and reductions as libraries write them: a shuffle and its predicate in an inline-assembly scope of its own
// ptxcheck-args: -W PTX401 -W PTX402 -W potential:PTX403 -W potential:PTX406

__device__ float add_from_below(float value, int offset, unsigned mask, int first) {
  float sum;
  asm volatile(
      "{\n"
      "  .reg .f32 got;\n"
      "  .reg .pred in_range;\n"
      "  shfl.sync.up.b32 got|in_range, %1, %2, %3, %4;\n"
      "  @in_range add.f32 got, got, %1;\n"
      "  mov.f32 %0, got;\n"
      "}\n"
      : "=f"(sum)
      : "f"(value), "r"(offset), "r"(first), "r"(mask));
  return sum;
}

__device__ int add_from_above(int value, int offset, unsigned mask, int last) {
  asm volatile(
      "{\n"
      "  .reg .s32 got;\n"
      "  .reg .pred in_range;\n"
      "  {\n"
      "    .reg .u32 distance;\n"
      "    mov.u32 distance, %1;\n"
      "    shfl.sync.down.b32 got|in_range, %0, distance, %2, %3;\n"
      "  }\n"
      "  @in_range add.s32 %0, got, %0;\n"
      "}\n"
      : "+r"(value)
      : "r"(offset), "r"(last), "r"(mask));
  return value;
}

__global__ void inclusive_scan(float *out) {
  float value = out[threadIdx.x];
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) value = add_from_below(value, offset, 0xffffffffu, 0);
  out[threadIdx.x] = value;
}

// The first warp scans what the others left: cub's raking.
__global__ void block_scan(float *out) {
  __shared__ float partial[32];
  if (threadIdx.x < 32) partial[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&partial[threadIdx.x / 32], out[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 32) {
    float value = partial[threadIdx.x];
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) value = add_from_below(value, offset, 0xffffffffu, 0);
    partial[threadIdx.x] = value;
  }
  __syncthreads();
  out[threadIdx.x] += partial[threadIdx.x / 32];
}

// Segments of 8 lanes: each group has a mask of its own, and the clamp ends it.
__global__ void segmented(int *out) {
  unsigned lane = threadIdx.x & 31;
  unsigned mask = 0xffu << (lane & 24);
  int value = out[threadIdx.x];
#pragma unroll
  for (int offset = 1; offset < 8; offset *= 2) value = add_from_above(value, offset, mask, (lane & 24) + 7);
  out[threadIdx.x] = value;
}
