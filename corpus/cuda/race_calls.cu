// targets: sm_90 sm_120
// why: functions that are called, and the barrier that none of them has

__device__ __noinline__ void meet() { __syncthreads(); }

__device__ __noinline__ void fill(float *tile, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];  // not found: functions are not inlined
}

__device__ __noinline__ float total(const float *tile, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += tile[i] * (i ^ threadIdx.x);
  return sum;
}

__device__ __noinline__ void store(int *s, int v) { s[threadIdx.x] = v; }

__device__ __noinline__ int load(const int *s) { return s[127 - threadIdx.x]; }  // not found: functions are not inlined

__device__ __noinline__ int block_sum(int v, int *part) {
  v = __reduce_add_sync(0xffffffffu, v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;  // not found: functions are not inlined
  __syncthreads();
  int all = 0;
  for (int w = 0; w < blockDim.x / 32; w++) all += part[w];
  return all;
}

// wrong: no barrier between the two calls.
__global__ void __launch_bounds__(128) stored_and_loaded(int *out, const int *in) {
  __shared__ int s[128];
  store(s, in[threadIdx.x]);
  out[threadIdx.x] = load(s);
}

// wrong: a barrier after the fill, none at the end of a round.
__global__ void __launch_bounds__(256) all_in_functions(float *out, const float *in, int tiles) {
  __shared__ float tile[256];
  float sum = 0;
  for (int k = 0; k < tiles; k++) {
    fill(tile, in + k * 256, 256);
    meet();
    sum += total(tile, 256);
  }
  out[threadIdx.x] = sum;
}

// wrong: the function is called twice with the same memory.
__global__ void sums_by_calls(int *out, const int *in, const int *other) {
  __shared__ int part[32];
  int a = block_sum(in[threadIdx.x], part), b = block_sum(other[threadIdx.x] * a, part);
  out[threadIdx.x] = a - b;
}

// wrong: all read, and all write, and the barrier in a function comes after that.
__global__ void __launch_bounds__(128) barrier_too_late(int *out, const int *in) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  meet();
  int v = s[127 - threadIdx.x];
  s[threadIdx.x] = v * 2;  // not found: barriers are in a function
  meet();
  out[threadIdx.x] = s[threadIdx.x ^ 64];
}
