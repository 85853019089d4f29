// Kernels that are wrong for some launch or some argument; with -DFIXED, right ones. `nvcc -ptx -arch=sm_90 -lineinfo [-DFIXED]` makes
// `wrong.ptx` and `fixed.ptx` of them.
#define FULL 0xffffffffu

// A reduction under the guard of the tail.
extern "C" __global__ void tail_reduce(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  float v = i < n ? in[i] : 0.f;
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(FULL, v, d);
  if (i < n && threadIdx.x % 32 == 0) atomicAdd(out, v);
#else
  if (i < n) {
    float v = in[i];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(FULL, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
  }
  out[1 + threadIdx.x] = 1.f;
#endif
}
// A barrier in a loop with the stride of the block.
extern "C" __global__ void stride_barrier(const float *in, float *out, int n) {
  __shared__ float s[256];
#ifdef FIXED
  for (int base = 0; base < n; base += blockDim.x) {
    int i = base + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = s[threadIdx.x ^ 1];
    __syncthreads();
  }
#else
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[threadIdx.x ^ 1];
    __syncthreads();
  }
#endif
  out[threadIdx.x] += 1.f;
}
// A mask of 16 lanes that both halves of a warp use.
extern "C" __global__ void half_mask(const int *in, int *out, int rows) {
  int row = threadIdx.x / 16, v = in[threadIdx.x];
  if (row >= rows) return;
#ifdef FIXED
  unsigned m = 0xffffu << (threadIdx.x & 16);
#else
  unsigned m = 0xffffu;
#endif
  for (int d = 8; d; d /= 2) v += __shfl_xor_sync(m, v, d, 16);
  out[threadIdx.x] = v;
}
// Lanes that break out of a loop of searches.
extern "C" __global__ void early_break(const int *in, int *out, int n) {
  int best = -1;
  for (int k = 0; k < n; k++) {
    int x = in[k * 32 + threadIdx.x % 32];
#ifdef FIXED
    bool hit = x == 7;
    if (__any_sync(FULL, hit)) { best = hit ? k : best; break; }
#else
    if (x == 7) { best = k; break; }
    if (__any_sync(FULL, x > 9)) best = k;
#endif
  }
  out[threadIdx.x] = best;
}
// The mask of a ballot of another condition.
extern "C" __global__ void other_ballot(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? in[i] : 0;
#ifdef FIXED
  unsigned m = __ballot_sync(FULL, v != 0);
#else
  unsigned m = __ballot_sync(FULL, v > 1);
#endif
  if (v != 0) out[i] = __shfl_sync(m, v, __ffs(m) - 1);
}
// A shuffle of a warp whose last lanes have stored and returned.
extern "C" __global__ void early_return(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  float v = i < n ? in[i] : 0.f;
#else
  if (i >= n) { out[n] = 0.f; return; }
  float v = in[i];
#endif
  v += __shfl_xor_sync(FULL, v, 1);
  if (i < n) out[i] = v;
}
// A barrier under a condition on a loaded value.
extern "C" __global__ void flag_barrier(const int *flag, int *out) {
  __shared__ int s[1024];
  s[threadIdx.x] = flag[threadIdx.x];
#ifdef FIXED
  __syncthreads();
  if (s[threadIdx.x] == 3) out[threadIdx.x] = s[threadIdx.x ^ 1];
#else
  if (s[threadIdx.x] == 3) {
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
  }
#endif
  out[threadIdx.x + 1024] = 1;
}
// A mask of the first n lanes that has one more.
extern "C" __global__ void wide_mask(const int *in, int *out, unsigned n) {
  unsigned lane = threadIdx.x & 31;
#ifdef FIXED
  unsigned m = n >= 32 ? FULL : (1u << n) - 1;
#else
  unsigned m = n >= 32 ? FULL : (2u << n) - 1;
#endif
  if (lane < n) out[threadIdx.x] = __reduce_add_sync(m, in[threadIdx.x]);
  else out[threadIdx.x] = 0;
}
// A barrier in a loop over tiles, for threads with a row.
extern "C" __global__ void tile_barrier(const float *in, float *out, int rows, int tiles) {
  __shared__ float s[32];
  int row = blockIdx.x * 8 + threadIdx.x / 16;
#ifdef FIXED
  for (int t = 0; t < tiles; t++) {
    if (row < rows && threadIdx.x < 32) s[threadIdx.x] = in[t];
    __syncthreads();
    if (row < rows) out[row] += s[t & 31];
    __syncthreads();
  }
#else
  if (row < rows)
    for (int t = 0; t < tiles; t++) {
      if (threadIdx.x < 32) s[threadIdx.x] = in[t];
      __syncthreads();
      out[row] += s[t & 31];
      __syncthreads();
    }
  out[rows] = 1.f;
#endif
}
// Groups of 8 lanes with loops of different lengths, and the mask of the whole warp.
extern "C" __global__ void trip_counts(const int *count, int *out) {
  int g = threadIdx.x / 8, v = 0, c = count[g];
#ifdef FIXED
  unsigned m = 0xffu << (threadIdx.x & 24);
#else
  unsigned m = FULL;
#endif
  for (int k = 0; k < c; k++) v += __shfl_xor_sync(m, v + k, 1, 8);
  out[threadIdx.x] = v;
}
// Sums that each half of a warp makes, with one mask: behind branches on floating-point numbers, and a number of rounds that 16 warps find.
extern "C" __global__ void phase_sum(const double *x, double *out, const int *counts, int rows) {
  __shared__ int count[16], most;
  if (threadIdx.x % 32 == 0) count[threadIdx.x / 32] = counts[threadIdx.x / 32];
  __syncthreads();
  if (threadIdx.x < 16) {
    int c = count[threadIdx.x];
    for (int d = 8; d; d /= 2) c = max(c, __shfl_down_sync(0xffffu, c, d));
    if (threadIdx.x == 0) most = c;
  }
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < most; k++) {
    double s, c;
    __syncthreads();
    sincos(x[k] * threadIdx.x, &s, &c);
    sum += s * c;
  }
  if (threadIdx.x / 16 < rows) {
#ifdef FIXED
    unsigned m = 0xffffu << (threadIdx.x & 16);
#else
    unsigned m = 0xffffu;
#endif
    for (int d = 8; d; d /= 2) sum += __shfl_down_sync(m, sum, d, 16);
    out[threadIdx.x] = sum;
  }
}
// Lanes of a warp with a long row claim the warp for it, one after the other.
extern "C" __global__ void claimed_warp(const int *degrees, int *out, int n) {
  __shared__ int owner[32];
  int warp = threadIdx.x / 32, degree = threadIdx.x < n ? degrees[threadIdx.x] : 0;
  if (threadIdx.x % 32 == 0) owner[warp] = -1;
  __syncwarp();
  if (degree >= 32) owner[warp] = threadIdx.x;
#ifdef FIXED
  __syncwarp();
#endif
  out[threadIdx.x] = owner[warp];
}
// The last steps of a sum over a number of values that the host passes.
extern "C" __global__ void counted_tail(int *out, int count) {
  __shared__ int sums[64];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    sums[lane] = out[lane];
    sums[lane + 32] = 0;
#ifdef FIXED
    __syncwarp();
    int other = sums[lane + (count & 31)];
    __syncwarp();
    sums[lane] += other;
    __syncwarp();
#else
    sums[lane] += sums[lane + (count & 31)];
#endif
    if (lane == 0) out[0] = sums[0];
  }
}
// A lock: each lane has the place for itself while it holds it.
extern "C" __global__ void locked(int *out, int n) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (threadIdx.x < n) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    sum = sum + out[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = sum;
}
// A tile that the fastest warp fills again while others still read it.
extern "C" __global__ void filled_tile(const float *in, float *out, int n) {
  __shared__ float tile[128];
  float sum = 0.f;
  for (int first = 0; first < n; first += 128) {
    tile[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 128; ++i) sum += tile[i] * tile[i ^ 5];
#ifdef FIXED
    __syncthreads();
#endif
  }
  out[threadIdx.x] = sum;
}
