// why: memory of the launch, split into parts by constants, by the block's size or by a parameter

extern __shared__ __align__(16) unsigned char memory[];

// right: two arrays of 256 floats; the second one is constant, and read while the first one is written.
__global__ void __launch_bounds__(256) by_constants(float *out, const float *in, const float *weight, int rounds) {
  float *value = reinterpret_cast<float *>(memory), *w = value + 256;
  int t = threadIdx.x;
  w[t] = weight[t];
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    value[t] = in[k * 256 + t] * w[255 - t];
    __syncthreads();
    out[k * 256 + t] = value[(t + 1) & 255];
    __syncthreads();
  }
}

// right: the parts are as long as the block.
__global__ void by_block(int *out, const int *in) {
  int *a = reinterpret_cast<int *>(memory), *b = a + blockDim.x;
  int t = threadIdx.x, n = blockDim.x;
  a[t] = in[t];
  __syncthreads();
  b[t] = a[n - 1 - t] + 1;
  __syncthreads();
  out[t] = b[(t + 1) % n] - a[t];
}

// right: the same memory is floats first and, after a barrier, integers.
__global__ void __launch_bounds__(128) other_kind_later(int *out, const float *in) {
  float *f = reinterpret_cast<float *>(memory);
  int *n = reinterpret_cast<int *>(memory);
  int t = threadIdx.x;
  f[t] = in[t];
  __syncthreads();
  int above = f[127 - t] > f[t];
  __syncthreads();
  n[127 - t] = above;
  __syncthreads();
  out[t] = n[t];
}

// right: a constant part in front, the part of the launch behind it.
__global__ void __launch_bounds__(64) static_and_dynamic(int *out, const int *in) {
  __shared__ int fixed[64];
  int *more = reinterpret_cast<int *>(memory), t = threadIdx.x;
  more[t] = in[t];
  __syncthreads();
  fixed[t] = more[63 - t];
  __syncthreads();
  out[t] = fixed[t ^ 32];
}
