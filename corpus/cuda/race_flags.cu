// why: flags of a block that are cleared, set and read without enough barriers or fences

// wrong: the flag is cleared for the next round while others still read it for this one.
__global__ void __launch_bounds__(256) cleared_too_early(int *label, const int *next, int n) {
  __shared__ int changed;
  do {
    if (threadIdx.x == 0) changed = 0;  // not found: the loop ends by data
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) {
      int other = atomicAdd(&label[next[i]], 0);
      if (other < atomicMin(&label[i], other)) changed = 1;
    }
    __syncthreads();
  } while (changed);
}

// wrong: no barrier after the flag is cleared: what others have set may be lost.
__global__ void __launch_bounds__(256) cleared_too_late(int *label, const int *next, int n) {
  __shared__ int changed;
  do {
    __syncthreads();
    if (threadIdx.x == 0) changed = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
      int other = atomicAdd(&label[next[i]], 0);
      if (other < atomicMin(&label[i], other)) changed = 1;  // not found: the data decide
    }
    __syncthreads();
  } while (changed);
}

// wrong: the flag is read without a barrier after the loop that sets it.
__global__ void __launch_bounds__(256) found(int *out, const int *in, int key, int n) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256)
    if (in[i] == key) any = 1;
  if (threadIdx.x == 0) out[blockIdx.x] = any;  // not found: the data decide
}

// wrong: rounds until none is large: the largest is cleared while others may not have read it.
__global__ void __launch_bounds__(128) until_small(int *data) {
  __shared__ int s[128], largest;
  int t = threadIdx.x;
  s[t] = data[t];
  for (;;) {
    if (t == 0) largest = 0;  // not found: the loop ends by data
    __syncthreads();
    atomicMax(&largest, s[t]);
    __syncthreads();
    int top = largest;
    if (top < 100) break;
    s[t] /= 2;
  }
  data[t] = s[t];
}

// wrong: the data are not fenced from the flag, which alone is volatile.
__global__ void __launch_bounds__(64) flag_without_fence(int *out, const int *in) {
  __shared__ int data[32];
  __shared__ volatile int ready[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) ready[lane] = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    data[lane] = in[lane];
    ready[lane] = 1;
  } else {
    while (ready[lane] == 0) {}
    out[lane] = data[lane];  // not found: a waiting loop may order it
  }
}

// wrong: the last warp to arrive reads what the others have left, without fences.
__global__ void __launch_bounds__(256) last_warp_without_fence(float *out, const float *in) {
  __shared__ float part[8];
  __shared__ int arrived;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  float v = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (lane == 0) {
    part[warp] = v;
    if (atomicAdd(&arrived, 1) == 7) {
      float all = 0;
      for (int w = 0; w < 8; w++) all += part[w];  // not found: the data decide
      out[blockIdx.x] = all;
    }
  }
}

// wrong: a fence alone: nobody waits.
__global__ void __launch_bounds__(64) fence_only(int *out, const int *in) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __threadfence_block();
  out[threadIdx.x] = s[63 - threadIdx.x];  //~ PTX416
}

// wrong: counts of a digit are cleared for the next round while others read how many remain.
__global__ void __launch_bounds__(512) digits(const unsigned *key, int *out, int n, int k) {
  __shared__ int above[257], digit;
  int t = threadIdx.x;
  unsigned prefix = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (t < 257) above[t] = 0;  // not found: the data decide
    __syncthreads();
    for (int i = t; i < n; i += 512)
      if (shift == 24 || key[i] >> (shift + 8) == prefix) atomicAdd(&above[key[i] >> shift & 255], 1);
    __syncthreads();
    if (t == 0) {
      int sum = 0, d = 255;
      for (; d > 0 && sum + above[d] < k; d--) sum += above[d];
      digit = d;
      above[d + 1] = sum;
    }
    __syncthreads();
    prefix = prefix << 8 | digit;
    k -= above[digit + 1];
  }
  out[t] = prefix - k;
}
