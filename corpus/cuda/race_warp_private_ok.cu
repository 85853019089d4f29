// why: each warp has a slice of its own; its lanes wait for each other by __syncwarp, and no other warp comes there

// right: the neighbour is in the same warp and slice.
__global__ void rotated_in_warp(int *out, const int *in) {
  __shared__ int slice[32][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  slice[warp][lane] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncwarp();
  out[blockIdx.x * blockDim.x + threadIdx.x] = slice[warp][(lane + 1) % 32];
}

// right: the same with one array for all: t ^ 16 and the like stay in the warp.
__global__ void __launch_bounds__(256) butterflies(float *out, const float *in) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = in[t];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    s[t] = v;
    __syncwarp();
    v += s[t ^ d];
    __syncwarp();
  }
  out[t] = v;
}

// right: one row of the block is one warp.
// dim3(32, 4)
__global__ void __launch_bounds__(128) row_of_warp(float *out, const float *in) {
  __shared__ float row[4][32];
  row[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncwarp();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.y][31 - threadIdx.x];
}

// right: lane 0 says for its warp where it goes on; the other warps have another element.
__global__ void __launch_bounds__(128) work_of_warps(int *out, int *next, const int *in, int n) {
  __shared__ int start[4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (;;) {
    if (lane == 0) start[warp] = atomicAdd(next, 32);
    __syncwarp();
    int at = start[warp] + lane;
    __syncwarp();
    if (at - lane >= n) break;
    if (at < n) out[at] = in[at] * 3;
  }
}

// right: two warps share a row of 64, but each uses the half of its number.
__global__ void __launch_bounds__(256) halves_of_rows(float *out, const float *in) {
  __shared__ float row[4][64];
  int t = threadIdx.x, r = t / 64, half = t & 32, lane = t & 31;
  row[r][half + lane] = in[t];
  __syncwarp();
  out[t] = row[r][half + 31 - lane] + row[r][half | (lane ^ 5)];
}
