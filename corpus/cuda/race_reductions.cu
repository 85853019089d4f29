// targets: sm_90
// why: sums of a block with a barrier too few

// wrong: no barrier after a step: the next one reads what other warps are to write.
__global__ void __launch_bounds__(256) halving(float *out, const float *in) {
  __shared__ float sum[256];
  int t = threadIdx.x;
  sum[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) sum[t] += sum[t + half];  //~ PTX415
  }
  __syncthreads();
  if (t == 0) out[blockIdx.x] = sum[0];
}

// wrong: the same, unrolled.
__global__ void __launch_bounds__(256) halving_unrolled(float *out, const float *in) {
  __shared__ float sum[256];
  int t = threadIdx.x;
  sum[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll
  for (int half = 128; half > 16; half >>= 1) {
    if (t < half) sum[t] += sum[t + half];  //~[O3] PTX416
  }
  __syncthreads();
  if (t < 32) out[blockIdx.x * 32 + t] = sum[t];
}

// wrong: the size is that of the block; no barrier after a step.
__global__ void halving_of_block(float *out, const float *in, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) part[t] += part[t + half];  // not found: block size is not stated
    __syncwarp();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// wrong: no barrier before the last 64 elements are added by one warp.
template <int Threads>
__global__ void __launch_bounds__(Threads) unrolled(float *out, const float *in, int n) {
  __shared__ float sum[Threads];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * Threads + t; i < n; i += gridDim.x * Threads) v += in[i];
  sum[t] = v;
  __syncthreads();
  if (Threads >= 256) {
    if (t < 128) sum[t] += sum[t + 128];
    __syncthreads();
  }
  if (t < 64) sum[t] += sum[t + 64];
  if (t < 32) {
    v = sum[t] + sum[t + 32];  //~[!ir-O3] PTX416
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}
template __global__ void unrolled<128>(float *, const float *, int);
template __global__ void unrolled<256>(float *, const float *, int);

__device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

__device__ __forceinline__ float warp_max(float v) {
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

// wrong: no barrier before warp 0 reads the sums of the others.
__global__ void __launch_bounds__(256) sums_of_warps(float *out, const float *in) {
  __shared__ float part[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = warp_sum(in[blockIdx.x * 256 + threadIdx.x]);
  if (lane == 0) part[warp] = v;
  if (warp == 0) {
    v = lane < 8 ? part[lane] : 0;  //~[O3] PTX416
    v = warp_sum(v);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

// wrong: the same in a block of unknown size, with a __syncwarp.
__global__ void sums_of_some_warps(float *out, const float *in) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncwarp();
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? part[lane] : 0;  // not found: block size is not stated
    v = warp_sum(v);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

__device__ float block_sum(float v, float *part) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;  //~[clang-O3,ir-O3] PTX416
  __syncthreads();
  float all = 0;
  for (int w = 0; w < 8; w++) all += part[w];
  return all;
}

// wrong: the helper is called twice with one array, and ends without a barrier.
__global__ void __launch_bounds__(256) mean_and_variance(float *out, const float *in) {
  __shared__ float part[8];
  float v = in[blockIdx.x * 256 + threadIdx.x];
  float mean = block_sum(v, part) / 256;
  float variance = block_sum((v - mean) * (v - mean), part) / 256;
  out[blockIdx.x * 256 + threadIdx.x] = (v - mean) * rsqrtf(variance + 1e-5f);
}

__device__ float block_max(float v, float *part) {
  v = warp_max(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;  // not found: block size is not stated
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : -1e30f;
  return warp_max(v);
}

// wrong: one row after the other, each with a call that neither begins nor ends with a barrier.
__global__ void rows_in_a_loop(float *out, const float *in, int rows, int n) {
  __shared__ float part[32];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float v = -1e30f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v = fmaxf(v, in[row * n + i]);
    v = block_max(v, part);
    if (threadIdx.x == 0) out[row] = v;
  }
}

template <bool Largest>
__device__ float same_array(float v, float *part) {
  v = Largest ? warp_max(v) : warp_sum(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;  // not found: block size is not stated
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : Largest ? -1e30f : 0;
  return Largest ? warp_max(v) : warp_sum(v);
}

// wrong: the largest and the sum through one array, without a barrier between the two.
__global__ void softmax(float *out, const float *in, int n) {
  __shared__ float part[32];
  const float *row = in + blockIdx.x * n;
  float top = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, row[i]);
  top = same_array<true>(top, part);
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - top);
  sum = same_array<false>(sum, part);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = expf(row[i] - top) / sum;
}

// wrong: the total is read without a barrier after thread 0 has stored it.
__global__ void __launch_bounds__(256) divided_by_total(float *out, const float *in) {
  __shared__ float part[8], total;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = in[threadIdx.x], sum = warp_sum(v);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < 8; w++) all += part[w];
    total = all;
  }
  out[threadIdx.x] = v / total;  //~ PTX415
}

// wrong: thread 0 adds up what other warps may not have stored.
__global__ void __launch_bounds__(256) total_too_early(float *out, const float *in) {
  __shared__ float part[8], total;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = in[threadIdx.x], sum = warp_sum(v);
  if (lane == 0) part[warp] = sum;
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < 8; w++) all += part[w];  //~[O3] PTX416
    total = all;
  }
  __syncthreads();
  out[threadIdx.x] = v / total;
}

// wrong: two sums use one array, and there is no barrier between the reads of the first and the stores of the second.
__global__ void __launch_bounds__(128) two_sums(float *out, const float *a, const float *b) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
#pragma unroll
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  float first = s[0];  //~ PTX415
  s[t] = b[t];
  __syncthreads();
#pragma unroll
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  out[t] = first * s[0];
}

struct Moments {
  float n, mean, m2;
};

__device__ Moments merged(const Moments &a, const Moments &b) {
  float n = a.n + b.n, d = b.mean - a.mean, r = n > 0 ? b.n / n : 0;
  return {n, a.mean + d * r, a.m2 + b.m2 + d * d * a.n * r};
}

// wrong: the steps end with __syncwarp, and the halves are of other warps.
__global__ void __launch_bounds__(128) moments(Moments *out, const float *in, int n) {
  __shared__ Moments part[128];
  int t = threadIdx.x;
  Moments m = {0, 0, 0};
  for (int i = t; i < n; i += 128) m = merged(m, {1, in[i], 0});
  part[t] = m;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] = merged(part[t], part[t + half]);  // not found: block size is not stated
    __syncwarp();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// wrong: no barrier between the first step and the second one.
__global__ void __launch_bounds__(192) by_threes(float *out, const float *in) {
  __shared__ float sum[192];
  int t = threadIdx.x;
  sum[t] = in[t];
  __syncthreads();
  if (t < 64) sum[t] += sum[t + 64] + sum[t + 128];
  if (t < 16) sum[t] += sum[t + 16] + sum[t + 32] + sum[t + 48];  //~ PTX415 PTX416
  __syncthreads();
  if (t == 0) out[0] = sum[0] + sum[1];
}

// wrong: thread 0 clears the total without a barrier before others add to it.
__global__ void atomic_total(int *out, const int *in) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  int v = __reduce_add_sync(0xffffffffu, in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, v);  // not found: atomics are left out
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// wrong: the total is read while other warps still add to it.
__global__ void __launch_bounds__(256) atomic_total_read(int *out, const int *in) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int v = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 256 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, v);
  __syncwarp();
  out[blockIdx.x * 256 + threadIdx.x] = total;  // not found: atomics are left out
}
