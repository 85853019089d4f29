// why: branches that the whole block takes, with barriers inside of them, and barriers at many places of a loop

// right: only block 0 exchanges, and it has its barrier.
__global__ void __launch_bounds__(128) first_block_only(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    s[t] = in[t];
    __syncthreads();
    out[t] = s[127 - t];
  } else {
    out[blockIdx.x * 128 + t] = in[t];
  }
}

// right: a parameter decides for all threads, and each way has its barriers.
__global__ void __launch_bounds__(128) two_ways(float *out, const float *in, int n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  float v = in[t];
  if (n > 0) {
    s[t] = v;
    __syncthreads();
    v += s[t ^ 32];
    __syncthreads();
  } else {
    s[127 - t] = v;
    __syncthreads();
    v -= s[t ^ 64];
    __syncthreads();
  }
  s[t] = v;
  __syncthreads();
  out[t] = s[(t + 40) & 127];
}

// right: a step is left out by all or by none: the barrier before the branch and the one after it part the rest.
__global__ void __launch_bounds__(128) step_left_out(float *out, const float *in, int mode) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (mode & 1) {
    float v = s[127 - t];
    __syncthreads();
    s[t] = v;
  }
  __syncthreads();
  if (mode & 2) out[t] = s[t ^ 96];
  else out[t] = s[t];
}

// right: a switch on a parameter; each case writes in its own way, and the barrier comes after it.
__global__ void __launch_bounds__(128) by_mode(int *out, const int *in, int mode) {
  __shared__ int s[128];
  int t = threadIdx.x;
  switch (mode) {
  case 0: s[t] = in[t]; break;
  case 1: s[127 - t] = in[t]; break;
  case 2: s[t ^ 64] = -in[t]; break;
  default: s[t] = 0;
  }
  __syncthreads();
  out[t] = s[(t + 1) & 127];
}

// right: a while loop that ends by what all read alike between two barriers.
__global__ void __launch_bounds__(128) until_small(int *data) {
  __shared__ int s[128], largest;
  int t = threadIdx.x;
  s[t] = data[t];
  for (;;) {
    if (t == 0) largest = 0;
    __syncthreads();
    atomicMax(&largest, s[t]);
    __syncthreads();
    int top = largest, other = s[127 - t];
    __syncthreads();
    if (top < 100) break;
    s[t] = (s[t] + other) / 4;
  }
  data[t] = s[t];
}
