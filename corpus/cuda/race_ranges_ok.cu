// why: places that move or that only ranges, remainders or data tell apart

// right: the places move by a warp each round; within a round they are different, and a barrier ends it.
__global__ void __launch_bounds__(256) places_move(float *out, const float *in) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 8; k++) {
    s[(t + 32 * k) & 255] += in[k * 256 + t];
    __syncthreads();
  }
  out[t] = s[t];
}

// right: `at` is a permutation (that is what the caller gives), so every element has one writer.
__global__ void __launch_bounds__(256) scatter(int *out, const int *at, const int *in) {
  __shared__ int s[256];
  s[at[threadIdx.x] & 255] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

// right: reads of any place, and writes of own ones, with a barrier in between.
__global__ void __launch_bounds__(256) gather(int *out, const int *from, const int *in, int rounds) {
  __shared__ int s[256];
  int t = threadIdx.x, v = in[t];
  for (int k = 0; k < rounds; k++) {
    s[t] = v;
    __syncthreads();
    v += s[from[k * 256 + t] & 255];
    __syncthreads();
  }
  out[t] = v;
}

// right: below n the first part, from n on the second part of the array, each element one thread's.
__global__ void __launch_bounds__(256) split_at_n(int *out, const int *in, int n) {
  __shared__ int s[512];
  int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  else s[t + 256] = -in[t];
  __syncthreads();
  out[t] = t < n ? s[n - 1 - t] : s[511 + n - t];
}

// right: the warp that writes is the one that a value of the block names, and it alone reads in this round.
__global__ void __launch_bounds__(128) chosen_warp(int *out, const int *chosen, const int *in, int rounds) {
  __shared__ int s[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (warp == (chosen[k] & 3)) {
      s[lane] = in[k * 32 + lane];
      __syncwarp();
      sum += s[31 - lane];
    }
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
