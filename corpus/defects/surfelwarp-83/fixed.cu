// fix: `shfl.sync` with a full mask
// target: sm_75

__device__ float scan(float x) {
  for (int offset = 1; offset < 32; offset *= 2) {
    float sum;
    asm volatile(
        "{ .reg .f32 r; .reg .pred p; shfl.sync.up.b32 r|p, %1, %2, 0, -1; @p add.f32 r, r, %1; mov.f32 %0, r; }"
        : "=f"(sum)
        : "f"(x), "r"(offset));
    x = sum;
  }
  return x;
}

__global__ void scan_rows(float *rows) { rows[threadIdx.x] = scan(rows[threadIdx.x]); }
