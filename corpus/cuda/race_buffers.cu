// targets: sm_75 sm_90
// why: buffers in turn that are written too early: one buffer too few, or one barrier

// wrong: one buffer and one barrier a round.
__global__ void __launch_bounds__(256) one_buffer(float *out, const float *in, int rounds) {
  __shared__ float buffer[256];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    buffer[t] = in[k * 256 + t];  //~ PTX416
    __syncthreads();
    sum += buffer[t ^ 128] + buffer[255 - t];
  }
  out[t] = sum;
}

// wrong: two buffers where three are needed: the next tile is stored before the barrier, into what others still read.
__global__ void __launch_bounds__(128) two_in_turn(int *out, const int *in, int rounds) {
  __shared__ int buffer[2][128];
  int t = threadIdx.x, sum = 0;
  buffer[0][t] = in[t];
  for (int k = 0; k < rounds; k++) {
    buffer[(k + 1) & 1][t] = in[(k + 1) * 128 + t];  //~[nvcc-O3] PTX416
    __syncthreads();
    sum += buffer[k & 1][t ^ 96];
  }
  out[t] = sum;
}

// wrong: the same with constant rounds, which compilers unroll.
__global__ void __launch_bounds__(128) two_in_turn_unrolled(int *out, const int *in) {
  __shared__ int buffer[2][128];
  int t = threadIdx.x, sum = 0;
  buffer[0][t] = in[t];
#pragma unroll
  for (int k = 0; k < 6; k++) {
    buffer[(k + 1) % 2][t] = in[(k + 1) * 128 + t];  //~[O3] PTX416
    __syncthreads();
    sum += buffer[k % 2][t ^ 96];
  }
  out[t] = sum;
}

// wrong: the buffers change places, but nobody waits.
__global__ void __launch_bounds__(256) pointer_swap(float *field, int rounds) {
  __shared__ float a[256], b[256];
  int t = threadIdx.x;
  float *now = a, *next = b;
  now[t] = field[t];
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    next[t] = 0.5f * (now[(t + 224) & 255] + now[(t + 32) & 255]);  //~[nvcc-O3,ir-O3] PTX416
    float *swap = now;
    now = next;
    next = swap;
  }
  field[t] = now[t];
}

// wrong: no barrier between the first half of a round and the second one.
__global__ void __launch_bounds__(256) there_and_back(float *field, int pairs) {
  __shared__ float a[256], b[256];
  int t = threadIdx.x, l = (t + 255) & 255, r = (t + 1) & 255;
  a[t] = field[t];
  __syncthreads();
  for (int k = 0; k < pairs; k++) {
    b[t] = 0.5f * (a[l] + a[r]);  //~ PTX415
    a[t] = 0.5f * (b[l] + b[r]);  //~ PTX415
    __syncthreads();
  }
  field[t] = a[t];
}

// wrong: the register is stored while others still read the tile.
__global__ void __launch_bounds__(256) through_a_register(float *out, const float *in, int tiles) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  float next = in[t], sum = 0;
  for (int k = 1; k <= tiles; k++) {
    tile[t] = next;  //~[O3] PTX416
    __syncthreads();
    if (k < tiles) next = in[k * 256 + t];
#pragma unroll 8
    for (int j = 0; j < 256; j += 32) sum += tile[(t + j) & 255] * tile[j];  //~[nvcc-O3] PTX415
  }
  out[t] = sum;
}

// wrong: the buffer changes in every other round only.
__global__ void __launch_bounds__(128) parity_of_pairs(float *out, const float *in) {
  __shared__ float buffer[2][128];
  int t = threadIdx.x;
  float v = in[t];
#pragma unroll
  for (int k = 0; k < 6; k++) {
    buffer[k / 2 % 2][t] = v;  //~[O3] PTX416
    __syncthreads();
    v = v * 0.75f + buffer[k / 2 % 2][(t + 40) & 127];
  }
  out[t] = v;
}

// wrong: the slot behind the newest one is the one that the next round writes.
__global__ void __launch_bounds__(64) ring_of_four(int *out, const int *in, int rounds) {
  __shared__ int ring[4][64];
  int t = threadIdx.x, slot = 0, sum = 0;
  for (int k = 0; k < 4; k++) ring[k][t] = 0;
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    ring[slot][t] = in[k * 64 + t];  //~[nvcc-O3] PTX416
    __syncthreads();
    sum += ring[slot][63 - t] - ring[(slot + 1) & 3][t ^ 32];
    slot = (slot + 1) & 3;
  }
  out[t] = sum;
}

// wrong: the stage changes, but the barrier stands only before the loop.
__global__ void __launch_bounds__(256) product_two_stages(float *c, const float *a, const float *b, int n) {
  __shared__ float as[2][16][16], bs[2][16][16];
  int x = threadIdx.x & 15, y = threadIdx.x >> 4, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x, stage = 0;
  as[0][y][x] = a[row * n + x];
  bs[0][y][x] = b[y * n + col];
  __syncthreads();
  float sum = 0;
  for (int k = 16; k <= n; k += 16) {
    float na = 0, nb = 0;
    if (k < n) na = a[row * n + k + x], nb = b[(k + y) * n + col];
#pragma unroll
    for (int j = 0; j < 16; j++) sum += as[stage][y][j] * bs[stage][j][x];  // not found: a parameter decides
    if (k < n) {
      as[stage ^ 1][y][x] = na;
      bs[stage ^ 1][y][x] = nb;
      stage ^= 1;
    }
  }
  c[row * n + col] = sum;
}
