// ptxcheck-args: --launch-block 32,8
// why: blocks of 32 by 8 threads, with the barriers that they need

// right: sums of columns: rows meet at a barrier, then the first row adds.
__global__ void __launch_bounds__(256) column_sums(float *out, const float *in, int rows, int w) {
  __shared__ float part[8][32];
  int col = blockIdx.x * 32 + threadIdx.x;
  float v = 0;
  for (int r = threadIdx.y; r < rows; r += 8) v += in[r * w + col];
  part[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.y == 0) {
    for (int r = 1; r < 8; r++) v += part[r][threadIdx.x];
    out[col] = v;
  }
}
