// ptxcheck-args: -W potential:PTX212
// why: arrays that are read and written in each round of a loop, whose first round knows what it reads or leaves it out

#define BLOCK(n) __launch_bounds__(n)

__global__ void BLOCK(128) stored_before_the_loop(float *out, const float *in, int tiles) {
  __shared__ float greatest[128];
  greatest[threadIdx.x] = -INFINITY;
  float sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    float old = greatest[threadIdx.x];
    float now = fmaxf(old, in[tile * 128 + threadIdx.x]);
    sum = sum * exp2f(old - now) + 1;
    greatest[threadIdx.x] = now;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void BLOCK(128) not_in_the_first_round(float *out, const float *in, int tiles) {
  __shared__ float greatest[128];
  float sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    float old = -INFINITY;
    if (tile > 0) old = greatest[threadIdx.x];
    float now = fmaxf(old, in[tile * 128 + threadIdx.x]);
    sum = sum * exp2f(old - now) + 1;
    greatest[threadIdx.x] = now;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void BLOCK(128) selected(float *out, const float *in, int tiles) {
  __shared__ float greatest[128];
  float sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    float left = greatest[threadIdx.x];
    float old = tile == 0 ? -INFINITY : left;
    float now = fmaxf(old, in[tile * 128 + threadIdx.x]);
    sum = sum * exp2f(old - now) + 1;
    greatest[threadIdx.x] = now;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void BLOCK(256) one_thread_sets_it(int *out, const int *in, int rounds) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = total;
    __syncthreads();
    if (threadIdx.x == 0) total = before + in[round];
    __syncthreads();
  }
  out[threadIdx.x] = total;
}

__global__ void BLOCK(64) written_at_the_top(int *out, const int *in, int rounds) {
  __shared__ int line[64];
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    line[threadIdx.x] = in[round * 64 + threadIdx.x];
    __syncthreads();
    out[round * 64 + threadIdx.x] = line[63 - threadIdx.x] * 3;
    __syncthreads();
  }
}

__global__ void BLOCK(64) first_round_apart(int *out, const int *in, int rounds) {
  __shared__ int line[64];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int round = 1; round < rounds; round++) {
    int before = line[63 - threadIdx.x];
    __syncthreads();
    line[threadIdx.x] = in[round * 64 + threadIdx.x];
    __syncthreads();
    out[round * 64 + threadIdx.x] = before * 3;
  }
}

__global__ void BLOCK(64) two_buffers(int *out, const int *in, int rounds) {
  __shared__ int line[2][64];
  line[0][threadIdx.x] = in[threadIdx.x];
#pragma unroll 1
  for (int round = 1; round < rounds; round++) {
    __syncthreads();
    int before = line[(round - 1) & 1][63 - threadIdx.x];
    line[round & 1][threadIdx.x] = in[round * 64 + threadIdx.x];
    out[round * 64 + threadIdx.x] = before * 3;
  }
}

// The exchange of an atomic writes: what it returns the first time is not used.
__global__ void BLOCK(64) exchanged(int *out, const int *in, int rounds) {
  __shared__ int slot[64];
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = atomicExch(&slot[threadIdx.x], in[round * 64 + threadIdx.x]);
    if (round > 0) out[round * 64 + threadIdx.x] = before;
  }
}

// Only later rounds store what was computed.
__global__ void BLOCK(64) stored_later(int *out, const int *in, int rounds) {
  __shared__ int line[64];
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = line[threadIdx.x];
    line[threadIdx.x] = in[round * 64 + threadIdx.x];
    if (round > 0) out[round * 64 + threadIdx.x] = before * 3;
    __syncthreads();
  }
}

// Another warp has stored to it before the barrier.
__global__ void BLOCK(64) other_warp_stores(int *out, const int *in, int rounds) {
  __shared__ int line[32];
  if (threadIdx.x < 32) line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = line[threadIdx.x & 31];
    __syncthreads();
    if (threadIdx.x < 32) line[threadIdx.x] = before + 1;
    __syncthreads();
  }
  out[threadIdx.x] = line[threadIdx.x & 31];
}

// The loop is left before it reads in the first round.
__global__ void BLOCK(64) left_first(int *out, const int *in, int rounds) {
  __shared__ int line[64];
  int round = 0;
  while (true) {
    if (round > 0) {
      if (round == rounds) break;
      int before = line[63 - threadIdx.x];
      out[round * 64 + threadIdx.x] = before + 1;
      __syncthreads();
    }
    line[threadIdx.x] = in[round * 64 + threadIdx.x];
    __syncthreads();
    round++;
  }
}

__global__ void BLOCK(64) first_round_continues(int *out, const int *in, int rounds) {
  __shared__ int line[64];
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    if (round == 0) {
      line[threadIdx.x] = in[threadIdx.x];
      __syncthreads();
      continue;
    }
    int before = line[63 - threadIdx.x];
    __syncthreads();
    line[threadIdx.x] = before + 1;
    __syncthreads();
  }
  out[threadIdx.x] = rounds;
}
