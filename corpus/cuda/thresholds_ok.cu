// why: right in every block, or with a size of which nothing is known: what shows that a block is larger, and what does not

#define K extern "C" __global__ void

// A loop in steps of the block's size is no test: it is right in every block.
K strided(int *out, const int *in) {
  __shared__ int s[100];
  for (int i = threadIdx.x; i < 100; i += blockDim.x) s[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 110; i += blockDim.x) out[i] = s[i % 100];
}

// In steps of a constant, rolled and unrolled.
K strided_by_a_warp(int *out, const int *in) {
  __shared__ int s[66];
#pragma unroll 1
  for (int i = threadIdx.x; i < 66; i += 32) s[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 1];
}

K unrolled_by_a_warp(int *out, const int *in) {
  __shared__ int s[66];
#pragma unroll
  for (int i = threadIdx.x; i < 66; i += 32) s[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 1];
}

// Arrays of as many elements as the block has threads.
K as_many_as_threads(int *out, const int *in) {
  __shared__ int s[100];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[99 - threadIdx.x];
}

K in_steps_and_as_many(int *out, const int *in) {
  __shared__ int s[96];
  for (int i = threadIdx.x; i < 200; i += blockDim.x) out[i] = in[i];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] += s[95 - threadIdx.x];
}

// A test that only large blocks come to.
K by_size_of_the_block(int *out, const int *in) {
  __shared__ int s[100];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (blockDim.x >= 128) {
    if (threadIdx.x < 120) out[threadIdx.x] = 1;
  }
  out[threadIdx.x + 1024] = s[99 - threadIdx.x];
}

// Whole warps.
K warps(int *out, const int *in) {
  __shared__ int s[32];
  int v = in[threadIdx.x];
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 64) v += __shfl_xor_sync(0xffffffffu, v, 1);
  out[threadIdx.x] = v + s[0];
}

// Threads that end are not waited for.
K rest_ends(int *out, const int *in) {
  __shared__ int s[128];
  if (threadIdx.x >= 100) return;
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[99 - threadIdx.x];
}

// The barrier is outside of the test.
K barrier_outside(int *out, const int *in) {
  __shared__ int s[100];
  if (threadIdx.x < 100) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 100) out[threadIdx.x] = s[99 - threadIdx.x];
}

// Lanes that come with the mask that names them.
K groups_of_sixteen(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffu << (threadIdx.x & 16), v, 1);
  out[threadIdx.x] = v;
}

K first_sixteen(int *out, const int *in) {
  int v = in[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffu, v, 1);
  out[threadIdx.x] = v;
}

// The access is under a test of its own.
K row_under_test(int *out, const int *in) {
  __shared__ int s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x & 15];
}

K row_by_remainder(int *out, const int *in) {
  __shared__ int s[48];
  s[threadIdx.x % 48] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 50) out[threadIdx.x] = s[threadIdx.x % 48];
}

// Bounded blocks.
K __launch_bounds__(16) bounded(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffu, v, 1);
  out[threadIdx.x] = v;
}
