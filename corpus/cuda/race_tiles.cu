// targets: sm_75 sm_90
// why: tiles that all threads fill and read, and a barrier is missing on one side

// wrong: no barrier between the fill and the reads of neighbours.
__global__ void __launch_bounds__(256) halo(float *out, const float *in, int n) {
  __shared__ float tile[258];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
  tile[t] = i < n ? in[i] : 0;
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1) tile[t + 1] = i + 1 < n ? in[i + 1] : 0;
  if (i < n) out[i] = 0.25f * tile[t - 1] + 0.5f * tile[t] + 0.25f * tile[t + 1];  // not found: a parameter decides
}

// wrong: no barrier at the end of a round: the next row is stored while others still read this one.
__global__ void __launch_bounds__(256) halo_rows(float *out, const float *in, int rows) {
  __shared__ float tile[258];
  int t = threadIdx.x;
  for (int row = 0; row < rows; row++) {
    tile[t + 1] = in[row * 256 + t];  //~ PTX416
    if (t < 2) tile[t * 257] = in[row * 256 + t * 255];
    __syncthreads();
    out[row * 256 + t] = tile[t] + tile[t + 1] + tile[t + 2];  //~[nvcc-O3] PTX415
  }
}

// wrong: the same with a constant number of rounds.
__global__ void __launch_bounds__(256) ten_rows(float *out, const float *in) {
  __shared__ float tile[256];
  int t = threadIdx.x;
#pragma unroll 1
  for (int row = 0; row < 10; row++) {
    tile[t] = in[row * 256 + t];  //~ PTX416
    __syncthreads();
    out[row * 256 + t] = tile[255 - t];
  }
}

// wrong: the same, unrolled.
__global__ void __launch_bounds__(256) four_rows_unrolled(float *out, const float *in) {
  __shared__ float tile[256];
  int t = threadIdx.x;
#pragma unroll
  for (int row = 0; row < 4; row++) {
    tile[t] = in[row * 256 + t];  //~ PTX416
    __syncthreads();
    out[row * 256 + t] = tile[255 - t];
  }
}

// wrong: no barrier between the store and the load of the thread at the other end, which is in the other warp.
__global__ void __launch_bounds__(64) reversed(int *out, const int *in) {
  __shared__ int s[64];
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];  //~ PTX416
}

// wrong: n is a parameter; no barrier.
__global__ void reversed_in_block(int *d, int n) {
  extern __shared__ int whole[];
  int t = threadIdx.x;
  if (t < n) whole[t] = d[t];
  if (t < n) d[t] = whole[n - 1 - t];  // not found: a parameter decides
}

#define RADIUS 5

// wrong: the lanes of a warp wait for each other, but the borders and the neighbours of other warps do not.
__global__ void __launch_bounds__(256) convolution(float *out, const float *in, const float *w, int n) {
  __shared__ float tile[256 + 2 * RADIUS];
  int start = blockIdx.x * 256;
  for (int i = threadIdx.x; i < 256 + 2 * RADIUS; i += 256) {
    int at = start + i - RADIUS;
    tile[i] = at >= 0 && at < n ? in[at] : 0;
  }
  __syncwarp();
  float sum = 0;
#pragma unroll
  for (int k = 0; k <= 2 * RADIUS; k++) sum += tile[threadIdx.x + k] * w[k];  // not found: tile is filled in loop
  if (start + threadIdx.x < n) out[start + threadIdx.x] = sum;
}

// wrong: bodies tile by tile, without the barrier at the end.
__global__ void __launch_bounds__(128) bodies(float4 *force, const float4 *body, int tiles) {
  __shared__ float4 tile[128];
  float4 me = body[blockIdx.x * blockDim.x + threadIdx.x];
  float ax = 0, ay = 0, az = 0;
  for (int k = 0; k < tiles; k++) {
    tile[threadIdx.x] = body[k * blockDim.x + threadIdx.x];  // not found: block size is not stated
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < blockDim.x; j++) {
      float4 p = tile[j];
      float dx = p.x - me.x, dy = p.y - me.y, dz = p.z - me.z;
      float f = p.w * rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      ax += dx * f, ay += dy * f, az += dz * f;
    }
  }
  force[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(ax, ay, az, 0);
}

// wrong: the next tile is stored without a barrier after the reads.
__global__ void __launch_bounds__(128) first_tile_peeled(float *out, const float *in, int tiles) {
  __shared__ float tile[128];
  float sum = 0;
  tile[threadIdx.x] = in[threadIdx.x];
  for (int k = 1; k <= tiles; k++) {
    __syncthreads();
    for (int j = 0; j < 128; j += 4) sum += tile[j ^ (threadIdx.x & 3)];
    if (k < tiles) tile[threadIdx.x] = in[k * 128 + threadIdx.x];  //~[O3,!ir] PTX415 PTX416
  }
  out[threadIdx.x] = sum;
}

// wrong: threads write their cell while their neighbours still read it.
__global__ void __launch_bounds__(256) relax_in_place(float *field, int rounds) {
  __shared__ float cell[256];
  int t = threadIdx.x;
  cell[t] = field[t];
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    float left = t > 0 ? cell[t - 1] : 0, right = t < 255 ? cell[t + 1] : 0;  //~ PTX415
    cell[t] = 0.5f * (left + right);
    __syncthreads();
  }
  field[t] = cell[t];
}

// wrong: no barrier between the guarded accesses.
__global__ void __launch_bounds__(256) guarded(float *out, const float *in, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  if (i < n && threadIdx.x >= 32) out[i] = tile[threadIdx.x] - tile[threadIdx.x - 32];  // not found: a parameter decides
}
