// why: memory of the launch, with parts that overlap or a barrier too few

extern __shared__ __align__(16) unsigned char memory[];

// wrong: the second array begins before the first one ends, and nobody waits between the two.
__global__ void __launch_bounds__(256) parts_overlap(float *out, const float *a, const float *b) {
  float *left = reinterpret_cast<float *>(memory), *right = left + 128;
  int t = threadIdx.x;
  left[t] = a[t];
  right[t] = b[t];  // not found: not between warps 0 and 1
  __syncthreads();
  out[t] = left[255 - t] * right[255 - t];
}

// wrong: no barrier between the row and the squares that are made of it.
__global__ void by_block(int *out, const int *in) {
  int *a = reinterpret_cast<int *>(memory), *b = a + blockDim.x;
  int t = threadIdx.x, n = blockDim.x;
  a[t] = in[t];
  b[t] = a[n - 1 - t] + 1;  // not found: block size is not stated
  __syncthreads();
  out[t] = b[(t + 1) % n] - a[t];
}

// wrong: the parts are n long; no barrier between the row and what is made of it.
__global__ void by_parameter(float *out, const float *in, int n) {
  float *row = reinterpret_cast<float *>(memory), *square = row + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = in[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) square[i] = row[i] * row[n - 1 - i];  // not found: a parameter decides
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = square[n - 1 - i];
}

// wrong: the memory becomes integers while others still read floats.
__global__ void __launch_bounds__(128) other_kind_later(int *out, const float *in) {
  float *f = reinterpret_cast<float *>(memory);
  int *n = reinterpret_cast<int *>(memory);
  int t = threadIdx.x;
  f[t] = in[t];
  __syncthreads();
  int above = f[127 - t] > f[t];
  n[t] = above;  //~ PTX416
  __syncthreads();
  out[t] = n[127 - t];
}

// wrong: no barrier between the part of the launch and the constant one.
__global__ void __launch_bounds__(64) static_and_dynamic(int *out, const int *in) {
  __shared__ int fixed[64];
  int *more = reinterpret_cast<int *>(memory), t = threadIdx.x;
  more[t] = in[t];
  fixed[t] = more[63 - t];  //~ PTX416
  __syncthreads();
  out[t] = fixed[t ^ 32];
}
