// why: two or three buffers in turn: one barrier a round is enough, because a buffer is written again only two rounds later

// right: write, barrier, read; the buffer is written again after the barrier of the next round.
__global__ void __launch_bounds__(256) by_parity(float *out, const float *in, int rounds) {
  __shared__ float buffer[2][256];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    buffer[k & 1][t] = in[k * 256 + t];
    __syncthreads();
    sum += buffer[k & 1][t ^ 128] + buffer[k & 1][255 - t];
  }
  out[t] = sum;
}

// right: three buffers: the one that is filled was last read two rounds ago, before the barrier of the last round.
__global__ void __launch_bounds__(128) three_in_turn(int *out, const int *in, int rounds) {
  __shared__ int buffer[3][128];
  int t = threadIdx.x, sum = 0;
  buffer[0][t] = in[t];
  int now = 0, next = 1;
  for (int k = 1; k <= rounds; k++) {
    buffer[next][t] = in[k * 128 + t];
    __syncthreads();
    sum += buffer[now][127 - t];
    now = next;
    next = next == 2 ? 0 : next + 1;
  }
  out[t] = sum;
}

// right: an offset that changes between 0 and 256, one barrier a round.
__global__ void offset_toggles(int *out, const int *in, int rounds) {
  __shared__ int ring[2 * 1024];
  int t = threadIdx.x, offset = 0, sum = 0;
  for (int k = 0; k < rounds; k++) {
    ring[offset + t] = in[k * blockDim.x + t];
    __syncthreads();
    sum += ring[offset + blockDim.x - 1 - t];
    offset ^= 1024;
  }
  out[t] = sum;
}

// right: constant rounds, which compilers unroll: buffers 0, 1, 0, 1, with a barrier each.
__global__ void __launch_bounds__(128) unrolled_rounds(float *out, const float *in) {
  __shared__ float buffer[2][128];
  int t = threadIdx.x;
  float v = in[t];
#pragma unroll
  for (int k = 0; k < 6; k++) {
    buffer[k % 2][t] = v;
    __syncthreads();
    v = v * 0.75f + buffer[k % 2][(t + 17) & 127];
  }
  out[t] = v;
}

// right: the parity is a truth value.
__global__ void __launch_bounds__(128) parity_is_bool(float *out, const float *in, int rounds) {
  __shared__ float even[128], odd[128];
  int t = threadIdx.x;
  bool phase = false;
  float v = in[t];
  while (rounds-- > 0) {
    float *to = phase ? odd : even;
    to[t] = v;
    __syncthreads();
    v += to[127 - t];
    phase = !phase;
  }
  out[t] = v;
}
