// targets: sm_90 sm_120
// why: sums of a block, in the ways that libraries write them, with a barrier after each step

// right: those that are read in a step are not written in it, and a barrier ends each step. The block is a power of two.
__global__ void halving(float *out, const float *in, int n) {
  extern __shared__ float sum[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sum[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) sum[t] += sum[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sum[0];
}

__device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

// right: a sum for each warp, a barrier, and warp 0 adds them up.
__global__ void sums_of_warps(float *out, const float *in) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < warps ? part[lane] : 0;
    v = warp_sum(v);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

// right: each sum of a warp is added to one cell by an atomic; cleared before, read after a barrier.
__global__ void atomic_total(int *out, const int *in) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int v = __reduce_add_sync(0xffffffffu, in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, v);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// right: two values a thread, both halves of one array, reduced side by side by the halves of the block.
__global__ void __launch_bounds__(256) two_at_once(float *out, const float *in) {
  __shared__ float s[256];
  int t = threadIdx.x, part = t & 128, i = t & 127;
  s[t] = in[t];
  __syncthreads();
#pragma unroll
  for (int half = 64; half > 0; half /= 2) {
    if (i < half) s[part + i] += s[part + i + half];
    __syncthreads();
  }
  if (i == 0) out[part >> 7] = s[part];
}
