// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that read in shared memory what others write, and nothing makes them wait

// The end of a reduction, of the time when the lanes of a warp kept in step.
__global__ void volatile_tail(float *out, const float *in) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 32) {
    volatile float *v = sums;
    v[t] += v[t + 32];
    v[t] += v[t + 16];  //~ PTX415
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

__global__ void plain_tail(float *out, const float *in) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 32) {
    // All of it is one sum and one store, once compilers have optimised it.
    sums[t] += sums[t + 16] + sums[t + 8] + sums[t + 4];  //~ PTX415
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

template <int Threads>
__device__ void reduce(volatile float *v, unsigned t) {
  if (Threads >= 64) v[t] += v[t + 32];
  if (Threads >= 32) v[t] += v[t + 16];  //~ PTX415
  if (Threads >= 16) v[t] += v[t + 8];
}

template <int Threads>
__global__ void templated_tail(float *out, const float *in) {
  __shared__ float sums[2 * Threads];
  unsigned t = threadIdx.x;
  sums[t] = in[blockIdx.x * Threads + t];
  __syncthreads();
  if (t < 32) reduce<Threads>(sums, t);
  if (t == 0) out[blockIdx.x] = sums[0];
}
template __global__ void templated_tail<128>(float *, const float *);

// Each lane reads its neighbour's sum and writes its own in one step.
__global__ void scan(int *out, const int *in) {
  __shared__ volatile int sums[64];
  unsigned lane = threadIdx.x & 31;
  sums[lane] = in[threadIdx.x];
  if (lane >= 1) sums[lane] += sums[lane - 1];  //~ PTX415
  if (lane >= 2) sums[lane] += sums[lane - 2];
  out[threadIdx.x] = sums[lane];
}

__global__ void transposed(float *out, const float *in) {
  __shared__ float tile[4][8];
  unsigned lane = threadIdx.x & 31;
  tile[lane / 8][lane % 8] = in[threadIdx.x];
  out[threadIdx.x] = tile[lane % 4][lane / 4];  //~ PTX415
}

// One lane says where the warp goes on.
__global__ void queue(int *out, int *ends, const int *in) {
  __shared__ int begin;
  if (threadIdx.x == 0) begin = atomicAdd(ends, 32);
  if (threadIdx.x < 32) out[begin + threadIdx.x] = in[threadIdx.x];  //~ PTX415
}
