// why: larger kernels, as programs have them, with the barriers that they need

// right: elimination: the pivot row is read by all others, which write their own rows; a barrier ends a step.
__global__ void __launch_bounds__(32 * 8) eliminate(float *m) {
  __shared__ float a[16][17];
  int t = threadIdx.x, r = t / 16, c = t % 16;
  a[r][c] = m[t];
  __syncthreads();
  for (int k = 0; k < 15; k++) {
    float factor = a[r][k] / a[k][k], pivot = a[k][c];
    __syncthreads();
    if (r > k && c >= k) a[r][c] -= factor * pivot;
    __syncthreads();
  }
  m[t] = a[r][c];
}

// right: paths through the block's tile: row k and column k are in registers before anything is written.
__global__ void __launch_bounds__(256) shortest(int *d) {
  __shared__ int tile[16][16];
  int y = threadIdx.x >> 4, x = threadIdx.x & 15;
  tile[y][x] = d[y * 16 + x];
  for (int k = 0; k < 16; k++) {
    __syncthreads();
    int by = tile[y][k] + tile[k][x], now = tile[y][x];
    __syncthreads();
    tile[y][x] = min(now, by);
  }
  d[y * 16 + x] = tile[y][x];
}
