// why: two arrays of dynamic shared memory begin at the same address
extern __shared__ int counts[];
extern __shared__ float sums[];

__global__ void both(const float *in, float *out) {
  counts[threadIdx.x] = int(in[threadIdx.x]);
  sums[threadIdx.x] = in[threadIdx.x];  //~ PTX605
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x ^ 1] + counts[threadIdx.x];
}

__global__ void one(const float *in, float *out) {
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x ^ 1];
}

__global__ void overwritten_before_it_is_read(const float *in, float *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) counts[i] = int(in[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) sums[i] = in[i];
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = sums[threadIdx.x] + counts[threadIdx.x];  //~ PTX605
}

__global__ void no_barrier_between(const float *in, float *out) {
  counts[threadIdx.x] = int(in[threadIdx.x]);
  __syncthreads();
  int count = counts[threadIdx.x ^ 1];
  if (threadIdx.x < 64) sums[threadIdx.x] = in[threadIdx.x];  //~ PTX605
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x & 63] + count;
}

// The second array is laid out behind the first.
__global__ void one_behind_the_other(const float *in, float *out) {
  float *values = sums + 32;
  if (threadIdx.x < 32) counts[threadIdx.x] = int(in[threadIdx.x]);
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x ^ 1] + counts[threadIdx.x & 31];
}

__global__ void behind_by_an_index(const float *in, float *out, int n) {
  int place = 4 * (int(threadIdx.x) + 8);
  if (threadIdx.x < 32) counts[threadIdx.x] = int(in[threadIdx.x]);
  for (int i = 0; i < 4; ++i) sums[place + i] = in[threadIdx.x + i * n];
  __syncthreads();
  out[threadIdx.x] = sums[place + n % 4] + counts[threadIdx.x & 31];
}

// The second array lies behind eight numbers of the first one; compilers add the eight by `or` to the last bits of the thread's number.
__global__ void behind_by_or(const int *in, float *out, int n, int last) {
  if (threadIdx.x < 8) counts[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < n; i++) {
    sums[8 + min(i, last) * 76 + (threadIdx.x & 7)] = float(in[i]);
    __syncthreads();
    if (threadIdx.x < 8) out[counts[threadIdx.x]] = sums[8 + threadIdx.x];
    __syncthreads();
  }
}
