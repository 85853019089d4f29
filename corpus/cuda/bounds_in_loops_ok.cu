// why: accesses in loops that look outside of the array, and are not

#define BLOCK(n) __launch_bounds__(n)

// right: a test of the whole index.
__global__ void BLOCK(64) tested(int *out) {
  __shared__ int count[16];
#pragma unroll 1
  for (int j = 0; j < 4; j++)
    if (threadIdx.x + j * 64 < 16) count[threadIdx.x + j * 64] = 0;
  __syncthreads();
  if (__all_sync(~0u, 1)) out[threadIdx.x] = count[threadIdx.x % 16];
}

// right: the condition of the loop.
__global__ void BLOCK(64) condition_of_loop(int *out) {
  __shared__ int count[16];
#pragma unroll 1
  for (int i = threadIdx.x; i < 16; i += 64) count[i] = 0;
  __syncthreads();
  if (__all_sync(~0u, 1)) out[threadIdx.x] = count[threadIdx.x % 16];
}

// right: downwards.
__global__ void BLOCK(32) downwards(int *out, int n) {
  __shared__ int line[16];
  if (threadIdx.x < 16) line[threadIdx.x] = n;
  __syncwarp();
  int sum = 0;
#pragma unroll 1
  for (int i = 16; i-- > 0;) sum += line[i];
  out[threadIdx.x] = sum;
}

// right: the first round is left out.
__global__ void BLOCK(32) without_first_round(int *out, const int *in, int n) {
  __shared__ int line[33];
  if (threadIdx.x == 0) line[0] = line[32] = 0;
  __syncwarp();
#pragma unroll 1
  for (int k = 0; k < n; k++) {
    if (k > 0) out[k * 32 + threadIdx.x] = line[threadIdx.x - 1 + (k > 0)];
    __syncwarp();
    line[threadIdx.x + 1] = in[k * 32 + threadIdx.x];
    __syncwarp();
  }
}

// right: an earlier loop has moved the index.
__global__ void BLOCK(32) moved_before(int *out, const int *in, int n) {
  __shared__ int line[64];
  int at = 100;
#pragma unroll 1
  while (at > 31) at -= 23;
#pragma unroll 1
  for (int k = 0; k < n; k++) {
    line[at + threadIdx.x] = in[k];
    __syncwarp();
    out[k] = line[at + (threadIdx.x ^ 1)];
    __syncwarp();
  }
}

// right: an inner loop has moved the index before the access.
__global__ void BLOCK(32) moved_by_inner_loop(int *out, const int *in, int n) {
  __shared__ int line[64];
#pragma unroll 1
  for (int k = 0, at = 96; k < n; k++) {
#pragma unroll 1
    while (at > 31) at -= 32;
    line[at + threadIdx.x] = in[k];
    __syncwarp();
    out[k] = line[at + (threadIdx.x ^ 1)];
    at = 96;
    __syncwarp();
  }
}

// right: the index is set at the top of each round.
__global__ void BLOCK(32) set_in_round(int *out, const int *in, int n) {
  __shared__ int line[32];
  int at = 1000;
#pragma unroll 1
  for (int k = 0; k < n; k++) {
    at = k & 1 ? 31 - threadIdx.x : threadIdx.x;
    line[at] = in[k];
    __syncwarp();
    out[k] = line[at ^ 1];
    __syncwarp();
  }
  out[n] = at;
}

// right: the loop is left before the access.
__global__ void BLOCK(32) left_before(int *out, const int *in) {
  __shared__ int line[16];
  line[threadIdx.x % 16] = in[threadIdx.x];
  __syncwarp();
#pragma unroll 1
  for (int i = threadIdx.x;; i += 32) {
    if (i >= 16) break;
    out[i] = line[i];
  }
}

// right: blocks of 16 threads.
__global__ void BLOCK(16) small_block(int *out) {
  __shared__ int count[16];
#pragma unroll 1
  for (int j = 0; j < 4; j++) {
    count[threadIdx.x] = j;
    __syncthreads();
    out[j] = count[15 - threadIdx.x];
    __syncthreads();
  }
}

// right: two halves in turn.
__global__ void BLOCK(32) in_turn(int *out, const int *in, int n) {
  __shared__ int half[64];
  int at = 0;
#pragma unroll 1
  for (int k = 0; k < n; k++, at ^= 32) {
    half[at + threadIdx.x] = in[k];
    __syncwarp();
    out[k] = half[at + (threadIdx.x ^ 1)];
    __syncwarp();
  }
}

// right: a pointer that goes on.
__global__ void BLOCK(32) pointer_goes_on(int *out, const int *in) {
  __shared__ int line[128];
  int *at = line;
#pragma unroll 1
  for (int k = 0; k < 4; k++, at += 32) at[threadIdx.x] = in[k * 32 + threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: from the end.
__global__ void BLOCK(32) pointer_goes_back(int *out, const int *in) {
  __shared__ int line[128];
  int *at = line + 128;
#pragma unroll 1
  for (int k = 0; k < 4; k++) {
    at -= 32;
    at[threadIdx.x] = in[k * 32 + threadIdx.x];
  }
  __syncwarp();
  out[threadIdx.x] = line[127 - threadIdx.x];
}
