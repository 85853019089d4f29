// ptxcheck-args: --launch-block 32,8
// why: blocks of 32 by 8 threads with a barrier too few

// wrong: the first row adds what the other rows may not have stored.
__global__ void __launch_bounds__(256) column_sums(float *out, const float *in, int rows, int w) {
  __shared__ float part[8][32];
  int col = blockIdx.x * 32 + threadIdx.x;
  float v = 0;
  for (int r = threadIdx.y; r < rows; r += 8) v += in[r * w + col];
  part[threadIdx.y][threadIdx.x] = v;
  if (threadIdx.y == 0) {
    for (int r = 1; r < 8; r++) v += part[r][threadIdx.x];  //~[O3,!ir] PTX416
    out[col] = v;
  }
}

// wrong: the plane is written again while neighbours read it.
__global__ void __launch_bounds__(256) planes(float *out, const float *in, int nx, int ny, int nz) {
  __shared__ float plane[10][34];
  int x = threadIdx.x + 1, y = threadIdx.y + 1;
  int at = (blockIdx.y * 8 + y) * nx + blockIdx.x * 32 + x;
  float below = in[at], here = in[at + nx * ny];
  for (int z = 1; z < nz - 1; z++) {
    float above = in[at + (z + 1) * nx * ny];
    plane[y][x] = here;  //~[O3,!ir] PTX416
    __syncthreads();
    out[at + z * nx * ny] = plane[y - 1][x] + plane[y + 1][x] + plane[y][x - 1] + plane[y][x + 1] + above + below - 6 * here;  //~[nvcc-O3] PTX415
    below = here;
    here = above;
  }
}

// wrong: no barrier between rows and columns.
__global__ void __launch_bounds__(256) padded(float *out, const float *in, int w) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int r = 0; r < 32; r += 8) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * w + x];
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int r = 0; r < 32; r += 8) out[(y + r) * w + x] = tile[threadIdx.x][threadIdx.y + r];  //~[O3] PTX415
  //~^[O3,!ir] PTX416
}
