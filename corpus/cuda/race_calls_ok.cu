// targets: sm_90 sm_120
// why: functions that are called, not inlined, hold the barrier or the accesses

__device__ __noinline__ void meet() { __syncthreads(); }

__device__ __noinline__ void fill(float *tile, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];
}

__device__ __noinline__ void fill_and_meet(float *tile, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
}

__device__ __noinline__ float total(const float *tile, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += tile[i] * (i ^ threadIdx.x);
  return sum;
}

__device__ __noinline__ int block_sum(int v, int *part) {
  v = __reduce_add_sync(0xffffffffu, v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  int all = 0;
  for (int w = 0; w < blockDim.x / 32; w++) all += part[w];
  __syncthreads();
  return all;
}

// right: the barrier is in a function.
__global__ void __launch_bounds__(128) barrier_in_function(int *out, const int *in) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  meet();
  int v = s[127 - threadIdx.x];
  meet();
  s[threadIdx.x] = v * 2;
  meet();
  out[threadIdx.x] = s[threadIdx.x ^ 64];
}

// right: fill, barrier, use, all of them functions, and a barrier at the end of a round.
__global__ void __launch_bounds__(256) all_in_functions(float *out, const float *in, int tiles) {
  __shared__ float tile[256];
  float sum = 0;
  for (int k = 0; k < tiles; k++) {
    fill(tile, in + k * 256, 256);
    meet();
    sum += total(tile, 256);
    meet();
  }
  out[threadIdx.x] = sum;
}

// right: the function that fills ends with the barrier, the caller has the other one.
__global__ void __launch_bounds__(256) barrier_at_the_end_of_a_call(float *out, const float *in, int tiles) {
  __shared__ float tile[256];
  float sum = 0;
  for (int k = 0; k < tiles; k++) {
    fill_and_meet(tile, in + k * 256, 256);
    sum += total(tile, 256);
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// right: the same function twice with the same memory: it ends with a barrier.
__global__ void sums_by_calls(int *out, const int *in, const int *other) {
  __shared__ int part[32];
  int a = block_sum(in[threadIdx.x], part), b = block_sum(other[threadIdx.x] * a, part);
  out[threadIdx.x] = a - b;
}
