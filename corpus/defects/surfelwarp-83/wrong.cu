// source: https://github.com/weigao95/surfelwarp/issues/83
// defect: a scan in inline assembly adds under the predicate of a `shfl` without `.sync`
// class: A
// target: sm_75
// found: default

__device__ float scan(float x) {
  for (int offset = 1; offset < 32; offset *= 2) {
    float sum;
    asm volatile(
        "{ .reg .f32 r; .reg .pred p; shfl.up.b32 r|p, %1, %2, 0; @p add.f32 r, r, %1; mov.f32 %0, r; }"  //~^ PTX408
        : "=f"(sum)
        : "f"(x), "r"(offset));
    x = sum;
  }
  return x;
}

__global__ void scan_rows(float *rows) { rows[threadIdx.x] = scan(rows[threadIdx.x]); }
