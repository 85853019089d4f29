// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that hand values on through shared memory, and wait for each other

__global__ void tail(float *out, const float *in) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 32) {
    float sum = sums[t];
    sum += sums[t + 32];
    __syncwarp();
    sums[t] = sum;
    __syncwarp();
    sum += sums[t + 16];
    __syncwarp();
    sums[t] = sum;
    __syncwarp();
    sum += sums[t + 8];
    __syncwarp();
    sums[t] = sum;
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

// Those that are read do not write.
__global__ void halves(float *out, const float *in) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

template <int Threads>
__global__ void templated_tail(float *out, const float *in) {
  __shared__ float sums[Threads];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * Threads + t];
  __syncthreads();
  if (t < 32) {
    if (Threads >= 64) sums[t] += sums[t + 32];
    __syncwarp();
    if (Threads >= 32 && t < 16) sums[t] += sums[t + 16];
    __syncwarp();
    if (Threads >= 16 && t < 8) sums[t] += sums[t + 8];
  }
  __syncthreads();
  if (t == 0) out[blockIdx.x] = sums[0];
}
template __global__ void templated_tail<128>(float *, const float *);

__global__ void scan(int *out, const int *in) {
  __shared__ int sums[64];
  unsigned lane = threadIdx.x & 31;
  int sum = in[threadIdx.x];
  sums[threadIdx.x & 63] = sum;
  for (unsigned by = 1; by < 32; by *= 2) {
    __syncwarp();
    int other = lane >= by ? sums[(threadIdx.x & 63) - by] : 0;
    __syncwarp();
    sums[threadIdx.x & 63] = sum += other;
  }
  out[threadIdx.x] = sum;
}

__global__ void transposed(float *out, const float *in) {
  __shared__ float tile[4][8];
  unsigned lane = threadIdx.x & 31;
  tile[lane / 8][lane % 8] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[lane % 4][lane / 4];
}

__global__ void queue(int *out, int *ends, const int *in) {
  __shared__ int begin;
  if (threadIdx.x == 0) begin = atomicAdd(ends, 32);
  __syncthreads();
  if (threadIdx.x < 32) out[begin + threadIdx.x] = in[threadIdx.x];
}

__global__ void own_slots(int *out, const int *in) {
  __shared__ int slots[256];
  slots[threadIdx.x] = in[threadIdx.x];
  slots[threadIdx.x] += 3;
  out[threadIdx.x] = slots[threadIdx.x];
}

// All write the same.
__global__ void one_value(int *out, int n) {
  __shared__ int count;
  count = 3;
  out[threadIdx.x] = count + n;
}

__global__ void counted(int *out, const int *in) {
  __shared__ int counts[32];
  atomicAdd(&counts[in[threadIdx.x] & 31], 1);
  out[threadIdx.x] = atomicAdd(&counts[threadIdx.x & 31], 0);
}
