// targets: sm_75 sm_90 sm_120
// why: the steps of a sum in a loop, and a warp that its lanes take in turn: between what is written and what is read, lanes wait

constexpr int THREADS = 256;

__global__ void largest(float *out, const float *in, int n) {
  __shared__ float best[THREADS];
  const int t = threadIdx.x;
  float mine = -1e30f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine = fmaxf(mine, in[i]);
  best[t] = mine;
  __syncthreads();
#pragma unroll
  for (int by = THREADS / 2; by > warpSize; by >>= 1) {
    if (t < by) best[t] = fmaxf(best[t], best[t + by]);
    __syncthreads();
  }
  for (int by = warpSize; by > 0; by >>= 1) {
    float other = t < warpSize ? best[t + by] : mine;
    __syncwarp();
    if (t < warpSize) best[t] = fmaxf(best[t], other);
    __syncwarp();
  }
  if (t == 0) out[blockIdx.x] = best[0];
}

// Those that are read do not write.
__global__ void product(float *out, const float *in) {
  __shared__ float factors[THREADS];
  const int t = threadIdx.x;
  factors[t] = in[blockIdx.x * THREADS + t];
  __syncthreads();
  if (t < 64) factors[t] *= factors[t + 64] * factors[t + 128] * factors[t + 192];
  __syncthreads();
  if (t < 32) {
#pragma unroll
    for (int by = 32; by > 0; by >>= 1) {
      if (t < by) factors[t] *= factors[t + by];
      __syncwarp();
    }
  }
  if (t == 0) out[blockIdx.x] = factors[0];
}

// Lanes that have long lists take the warp one after the other.
__global__ void expand(unsigned *marks, const unsigned *first, const unsigned *edges) {
  __shared__ unsigned owner[THREADS / 32], begin[THREADS / 32], count[THREADS / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned from = first[node];
  unsigned left = first[node + 1] - from;
  while (__any_sync(~0u, left >= 32)) {
    if (left >= 32) owner[warp] = lane;
    __syncwarp();
    if (owner[warp] == lane) {
      begin[warp] = from;
      count[warp] = left;
      left = 0;
    }
    __syncwarp();
    const unsigned at = begin[warp], length = count[warp];
    for (unsigned i = lane; i < length; i += 32) marks[edges[at + i]] = 1;
    __syncwarp();
  }
}
