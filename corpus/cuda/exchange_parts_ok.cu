// ptxcheck-args: -W conditional
// why: arrays one after the other in shared memory that is sized at launch: a parameter says where each begins, and the host passes as many
// elements as the block has threads. No witness may take fewer

#define K extern "C" __global__ void

K two_arrays(float *out, const float *in, int n) {
  extern __shared__ float s[];
  float *a = s, *b = a + n;
  int t = threadIdx.x;
  a[t] = in[t];
  b[t] = in[t + n];
  __syncthreads();
  out[t] = a[t] + b[t];
}

K behind_two_of_them(float *out, const float *in, int n) {
  extern __shared__ float s[];
  float *a = s, *b = a + 2 * n;
  int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  b[t] = a[t];
  __syncthreads();
  out[t] = b[n - 1 - t];
}

K three_arrays(int *out, const int *in, int n) {
  extern __shared__ int words[];
  int *keys = words, *values = keys + n, *counts = values + n;
  int t = threadIdx.x;
  keys[t] = in[t];
  __syncthreads();
  values[t] = keys[t] * 2;
  __syncthreads();
  counts[t] = values[t] + keys[t];
  __syncthreads();
  out[t] = counts[n - 1 - t];
}

K of_other_types(double *out, const int *in, int n) {
  extern __shared__ double wide[];
  double *sums = wide;
  int *marks = reinterpret_cast<int *>(sums + n);
  int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  marks[t] = sums[t] > 0;
  __syncthreads();
  out[t] = sums[t] + marks[n - 1 - t];
}

K by_two_sizes(int *out, const int *in, int rows, int columns) {
  extern __shared__ int tile[];
  int *left = tile, *right = tile + rows;
  int t = threadIdx.x;
  left[t] = in[t];
  __syncthreads();
  right[t] = left[t] + columns;
  __syncthreads();
  out[t] = right[columns - 1 - t];
}

K swapped(int *out, const int *in, int n) {
  extern __shared__ int words[];
  int *front = words, *back = words + n;
  int t = threadIdx.x;
  front[t] = in[t];
  for (int i = 0; i < 4; i++) {
    __syncthreads();
    back[t] = front[t] + i;
    __syncthreads();
    front[t] = back[t] - i;
  }
  out[t] = front[t];
}
