// why: tiles that all threads fill and read, with a barrier on both sides

// right: a barrier between the store and the load of the thread at the other end.
__global__ void __launch_bounds__(64) reversed(int *out, const int *in) {
  __shared__ int s[64];
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

// right: the same for a block of any size, in memory of the launch.
__global__ void reversed_in_block(int *d, int n) {
  extern __shared__ int whole[];
  int t = threadIdx.x;
  if (t < n) whole[t] = d[t];
  __syncthreads();
  if (t < n) d[t] = whole[n - 1 - t];
}

// right: the round begins with the barrier that ends the one before.
__global__ void __launch_bounds__(128) barrier_at_top(int *out, const int *in, int tiles) {
  __shared__ int tile[128];
  int sum = 0;
  for (int k = 0; k < tiles; k++) {
    __syncthreads();
    tile[threadIdx.x] = in[k * 128 + threadIdx.x];
    __syncthreads();
    sum += tile[127 - threadIdx.x] * tile[threadIdx.x ^ 64];
  }
  out[threadIdx.x] = sum;
}

// right: all have read the neighbours before anybody writes, and all have written before the next round reads.
__global__ void __launch_bounds__(256) relax_in_place(float *field, int rounds) {
  __shared__ float cell[256];
  int t = threadIdx.x;
  cell[t] = field[t];
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    float left = t > 0 ? cell[t - 1] : 0, right = t < 255 ? cell[t + 1] : 0;
    __syncthreads();
    cell[t] = 0.5f * (left + right);
    __syncthreads();
  }
  field[t] = cell[t];
}

// right: the last round leaves the loop before the barrier that no further round needs.
__global__ void __launch_bounds__(128) leaves_in_the_middle(int *out, const int *in, int tiles) {
  __shared__ int tile[128];
  int sum = 0;
  for (int k = 0;;) {
    tile[threadIdx.x] = in[k * 128 + threadIdx.x];
    __syncthreads();
    sum += tile[(threadIdx.x + 33) & 127];
    if (++k >= tiles) break;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// right: guards around both accesses, the barrier outside of them.
__global__ void __launch_bounds__(256) guarded(float *out, const float *in, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  __syncthreads();
  if (i < n && threadIdx.x > 0) out[i] = tile[threadIdx.x] - tile[threadIdx.x - 1];
}
