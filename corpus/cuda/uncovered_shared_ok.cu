// ptxcheck-args: -W potential:PTX212 --launch-block 128
// why: arrays in shared memory of which all that is read and used is stored, in ways that are hard to see

// right: the neighbour of the last thread is stored by one thread.
__global__ void neighbour(float *out, const float *in) {
  __shared__ float line[129];
  int t = threadIdx.x;
  line[t] = in[t];
  if (t == 0) line[128] = in[128];
  __syncthreads();
  out[t] = line[t] - line[t + 1];
}

// right: halo on both sides.
__global__ void halo(float *out, const float *in) {
  __shared__ float tile[4 + 128 + 4];
  int t = threadIdx.x;
  tile[t + 4] = in[t + 4];
  if (t < 4) tile[t] = in[t];
  if (t >= 124) tile[t + 8] = in[t + 8];
  __syncthreads();
  float sum = 0;
  for (int k = -4; k <= 4; k++) sum += tile[t + 4 + k];
  out[t] = sum;
}

// right: the padding of rows is never read.
__global__ void padded(float *out, const float *in) {
  __shared__ float tile[4][33];
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[y][31 - x];
}

// right: the padding is read, and what is read is left out.
__global__ void padding_left_out(float *out, const float *in) {
  __shared__ float tile[4][33];
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  float next = tile[y][x + 1];
  out[threadIdx.x] = tile[y][x] + (x < 31 ? next : 0);
}

// right: only threads with a neighbour store what they read.
__global__ void inner_threads(float *out, const float *in, int width) {
  __shared__ float line[130];
  int t = threadIdx.x;
  line[t + 1] = in[t];
  __syncthreads();
  float sum = line[t] + line[t + 2];
  if (t > 0 && t < 127 && t < width) out[t] = sum;
}

// right: a loop clears all.
__global__ void cleared_by_loop(int *out, const int *in, int n) {
  __shared__ int counts[1000];
  for (int i = threadIdx.x; i < 1000; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[in[i] % 1000], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 1000; i += blockDim.x) out[i] = counts[i];
}

// right: one warp clears all.
__global__ void cleared_by_warp(int *out, const int *in) {
  __shared__ int counts[128];
  int t = threadIdx.x;
  if (t < 32) {
    counts[t] = 0;
    counts[t + 32] = 0;
    counts[t + 64] = 0;
    counts[t + 96] = 0;
  }
  __syncthreads();
  atomicAdd(&counts[t], in[t]);
  __syncthreads();
  out[t] = counts[127 - t];
}

// right: a histogram.
__global__ void histogram(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned counts[256];
  int t = threadIdx.x;
  counts[t] = 0;
  counts[t + 128] = 0;
  __syncthreads();
  for (int i = t; i < n; i += 128) atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  out[t] = counts[t] + counts[t + 128];
}

// right: vectors are stored, numbers are read.
__global__ void vector_stores(float *out, const float4 *in) {
  __shared__ __align__(16) float all[512];
  int t = threadIdx.x;
  reinterpret_cast<float4 *>(all)[t] = in[t];
  __syncthreads();
  out[t] = all[t] + all[t + 128] + all[t + 256] + all[t + 384];
}

// right: numbers are stored, vectors are read.
__global__ void vector_loads(float4 *out, const float *in) {
  __shared__ __align__(16) float all[512];
  int t = threadIdx.x;
  all[t] = in[t];
  all[t + 128] = in[t + 128];
  all[t + 256] = in[t + 256];
  all[t + 384] = in[t + 384];
  __syncthreads();
  out[t] = reinterpret_cast<float4 *>(all)[127 - t];
}

// right: the tail holds zeros.
__global__ void zeros_behind(float *out, const float *in, int n) {
  __shared__ float line[256];
  int t = threadIdx.x;
  line[t] = t < n ? in[t] : 0;
  line[t + 128] = 0;
  __syncthreads();
  float sum = line[t];
  for (int by = 1; by < 128; by *= 2) sum += line[t + by];
  out[t] = sum;
}

// right: rows of the tile in four steps.
__global__ void transposed(float *out, const float *in) {
  __shared__ float tile[32][33];
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int row = y; row < 32; row += 4) tile[row][x] = in[row * 32 + x];
  __syncthreads();
  for (int row = y; row < 32; row += 4) out[row * 32 + x] = tile[x][row];
}

// right: the tree reads beyond what lanes need, and only lane 0 stores.
__global__ void tree_of_a_warp(float *out, const float *in) {
  __shared__ volatile float part[64];
  int t = threadIdx.x;
  if (t < 32) {
    float sum = in[t] + in[t + 32];
    part[t] = sum;
    __syncwarp();
    sum += part[t + 16];
    __syncwarp();
    part[t] = sum;
    __syncwarp();
    sum += part[t + 8];
    if (t < 8) out[t] = sum;
  }
}

// right: all lanes read the sums of four warps, and a shuffle takes those of the first ones.
__global__ void sums_of_warps(float *out, const float *in) {
  __shared__ float sums[32];
  int t = threadIdx.x, lane = t % 32;
  float sum = in[t];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  if (lane == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = sums[lane];
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    if (lane == 0) out[0] = sum;
  }
}

// right: sums of warps that a selection fills up.
__global__ void sums_or_zero(float *out, const float *in) {
  __shared__ float sums[32];
  int t = threadIdx.x, lane = t % 32;
  if (lane == 0) sums[t / 32] = in[t];
  __syncthreads();
  float sum = lane < 4 ? sums[lane] : 0.0f;
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (t == 0) out[0] = sum;
}

struct __align__(16) Point {
  float x, y, z;
};

// right: the bytes behind the members are copied along.
__global__ void structures(Point *out, const Point *in) {
  __shared__ Point all[128];
  int t = threadIdx.x;
  all[t].x = in[t].x;
  all[t].y = in[t].y;
  all[t].z = in[t].z;
  __syncthreads();
  out[t] = all[127 - t];
}

struct Mixed {
  char c;
  double d;
};

// right: the same, with bytes between them.
__global__ void mixed_structures(Mixed *out, const Mixed *in) {
  __shared__ Mixed all[128];
  int t = threadIdx.x;
  all[t].c = in[t].c;
  all[t].d = in[t].d;
  __syncthreads();
  out[t] = all[127 - t];
}

__device__ __noinline__ void fill(float *to, const float *from) {
  to[threadIdx.x] = from[threadIdx.x];
  to[threadIdx.x + 128] = from[threadIdx.x + 128];
}

// right: a function stores the rest.
__global__ void by_function(float *out, const float *in) {
  __shared__ float line[256];
  fill(line, in);
  if (threadIdx.x == 0) line[0] = 0;
  __syncthreads();
  out[threadIdx.x] = line[255 - threadIdx.x];
}

// right: unknown places are stored to.
__global__ void scattered(float *out, const float *in, const int *to) {
  __shared__ float line[256];
  int t = threadIdx.x;
  line[t] = 0;
  line[to[t] & 255] = in[t];
  __syncthreads();
  out[t] = line[t + 128] * 2;
}

// right: two buffers, of which each round stores one.
__global__ void two_buffers(float *out, const float *in, int rounds) {
  __shared__ float buffer[2][128];
  int t = threadIdx.x;
  buffer[0][t] = in[t];
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    out[k * 128 + t] = buffer[k & 1][127 - t];
    __syncthreads();
    buffer[(k + 1) & 1][t] = in[(k + 1) * 128 + t];
    __syncthreads();
  }
}

// right: the part that is not stored is masked out.
__global__ void masked(int *out, const int *in) {
  __shared__ int line[129];
  int t = threadIdx.x;
  line[t] = in[t];
  __syncthreads();
  out[t] = line[t] + (line[t + 1] & -static_cast<int>(t < 127));
}

// right: part of the block reads what it stored itself.
__global__ void half_of_the_block(float *out, const float *in) {
  __shared__ float line[64];
  int t = threadIdx.x;
  if (t < 64) line[t] = in[t];
  __syncthreads();
  if (t < 64) out[t] = line[63 - t] * 2;
}
