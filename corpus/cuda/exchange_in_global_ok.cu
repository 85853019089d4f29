// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that hand values on through global memory and wait, or that have places of their own

__device__ int turns[64];

__global__ void neighbours(int *out, int *values) {
  unsigned t = threadIdx.x;
  values[t] = out[t];
  __syncwarp();
  out[t] = values[t ^ 1];
}

__global__ void of_any_block(int *out, int *values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = i * 3;
  __syncthreads();
  out[i] = values[i ^ 1];
}

// From one array to another, which the caller keeps apart.
__global__ void to_another(float *sums, const float *values) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = values[i] + values[i + 1];
}

__global__ void own_places(int *values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] + 1;
  for (int round = 0; round < n; round++) values[i] *= values[i] + round;
  values[i] -= n;
}

__global__ void counter(int *out, int *count) {
  int base = *count;
  __syncthreads();
  if (threadIdx.x == 0) *count = base + 32;
  out[threadIdx.x] = base;
}

__global__ void tickets(int *out, int *count) {
  out[threadIdx.x] = atomicAdd(count, 1);
}

__global__ void one_value(int *out) {
  turns[3] = 1;
  out[threadIdx.x] = turns[3];
}

// Rows of a matrix: each round of the loop is in another one.
__global__ void rows(float *values, const float *by, int n) {
  for (int row = 0; row < n; row++) {
    values[row * 32 + threadIdx.x] = by[row];
    by += 1 + (int)values[row * 32 + 32 + threadIdx.x] % 2;
  }
}

// The number of the block decides which half is read, and which is written.
__global__ void halves(int *values, int half) {
  int in = half ? 0 : 256, out = half ? 256 : 0;
  values[out + threadIdx.x] = values[in + (threadIdx.x ^ 1)];
}

// Lanes that take turns through a flag in memory.
__global__ void turn(volatile int *flag, int *value, int *out) {
  if (threadIdx.x == 0) {
    value[0] = 7;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    out[threadIdx.x] = value[0];
  }
}
