// why: prefix sums of a block, with two arrays in turn or with a barrier between reads and writes

// right: a step reads one half and writes the other; one barrier a step.
__global__ void two_halves(float *out, const float *in) {
  extern __shared__ float temp[];
  int t = threadIdx.x, n = blockDim.x, to = 0, from = 1;
  temp[to * n + t] = t > 0 ? in[t - 1] : 0;
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    to = 1 - to;
    from = 1 - to;
    if (t >= d) temp[to * n + t] = temp[from * n + t] + temp[from * n + t - d];
    else temp[to * n + t] = temp[from * n + t];
    __syncthreads();
  }
  out[t] = temp[to * n + t];
}

// right: all have read, a barrier, all write, a barrier.
__global__ void __launch_bounds__(256) in_place(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int below = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += below;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[t];
}
