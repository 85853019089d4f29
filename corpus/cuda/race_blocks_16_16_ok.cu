// ptxcheck-args: --launch-block 16,16
// why: blocks of 16 by 16 threads, with the barriers that they need

#define TILE 16

// right: one thread of the block tells all others.
__global__ void __launch_bounds__(256) corner_tells(int *out, int *next) {
  __shared__ int base;
  if (threadIdx.x == 0 && threadIdx.y == 0) base = atomicAdd(next, 256);
  __syncthreads();
  out[base + threadIdx.y * 16 + threadIdx.x] = threadIdx.x ^ threadIdx.y;
}

// right: the product of two matrices by tiles of 16 x 16, two barriers a round.
__global__ void __launch_bounds__(TILE *TILE) product(float *c, const float *a, const float *b, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + col];
    __syncthreads();
    for (int j = 0; j < TILE; j++) sum += as[y][j] * bs[j][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// right: plane after plane, with a barrier before the next one is written.
__global__ void planes(float *out, const float *in, int n) {
  __shared__ float tile[16][17];
  for (int z = 0; z < n; z++) {
    tile[threadIdx.y][threadIdx.x] = in[z * 256 + threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
    out[z * 256 + threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    __syncthreads();
  }
}

// right: in place, both tiles of a pair are read before a barrier and after it written to global memory.
__global__ void __launch_bounds__(256) in_place(float *m, int n) {
  __shared__ float a[16][17], b[16][17];
  if (blockIdx.y > blockIdx.x) return;
  int x = threadIdx.x, y = threadIdx.y, bx = blockIdx.x * 16, by = blockIdx.y * 16;
  a[y][x] = m[(by + y) * n + bx + x];
  b[y][x] = m[(bx + y) * n + by + x];
  __syncthreads();
  m[(bx + y) * n + by + x] = a[x][y];
  m[(by + y) * n + bx + x] = b[x][y];
}
