// ptxcheck-args: --launch-block 16,16
// targets: sm_75 sm_90
// why: blocks of 16 by 16 threads with a barrier too few

#define TILE 16

// wrong: no barrier after the tile is filled.
__global__ void __launch_bounds__(256) blur(float *out, const float *in, int w) {
  __shared__ float tile[18][18];
  int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 16 + y + 1) * w + blockIdx.x * 16 + x + 1;
  tile[y + 1][x + 1] = in[at];
  if (x == 0) tile[y + 1][0] = in[at - 1];
  if (x == 15) tile[y + 1][17] = in[at + 1];
  if (y == 0) tile[0][x + 1] = in[at - w];
  if (y == 15) tile[17][x + 1] = in[at + w];
  out[at] = 0.2f * (tile[y + 1][x + 1] + tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2]);  //~ PTX415
}

// wrong: one thread tells all others, and nobody waits.
__global__ void __launch_bounds__(256) corner_tells(int *out, int *next) {
  __shared__ int base;
  if (threadIdx.x == 0 && threadIdx.y == 0) base = atomicAdd(next, 256);
  out[base + threadIdx.y * 16 + threadIdx.x] = threadIdx.x ^ threadIdx.y;  //~[nvcc-G] PTX416
  //~^[O3,clang-G] PTX415
}

// wrong: rows of 16 threads, two a warp, which wait for their warp only and read the next row.
__global__ void __launch_bounds__(256) next_row(float *out, const float *in) {
  __shared__ float s[16][16];
  s[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];
  __syncwarp();
  out[threadIdx.y * 16 + threadIdx.x] = s[(threadIdx.y + 1) & 15][threadIdx.x];  //~[O3,!ir] PTX416
}

// wrong: no barrier at the end of a round.
__global__ void __launch_bounds__(TILE *TILE) product(float *c, const float *a, const float *b, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + col];  //~[O3,!ir] PTX416
    __syncthreads();
    for (int j = 0; j < TILE; j++) sum += as[y][j] * bs[j][x];
  }
  c[row * n + col] = sum;
}

// wrong: no barrier between fill and use.
__global__ void __launch_bounds__(TILE *TILE) product_at_once(float *c, const float *a, const float *b, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + col];
    for (int j = 0; j < TILE; j++) sum += as[y][j] * bs[j][x];  //~[O3,!ir] PTX416
    //~^[!nvcc-G] PTX415
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// wrong: the next plane is stored while others read this one.
__global__ void __launch_bounds__(256) planes(float *out, const float *in, int n) {
  __shared__ float tile[16][17];
  for (int z = 0; z < n; z++) {
    tile[threadIdx.y][threadIdx.x] = in[z * 256 + threadIdx.y * 16 + threadIdx.x];  //~[O3,!ir] PTX416
    __syncthreads();
    out[z * 256 + threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  //~[nvcc-O3] PTX415
  }
}
