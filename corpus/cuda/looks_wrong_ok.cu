// targets: sm_90 sm_120
// why: masks kept in memory by each thread, preconditions, dynamic shared memory under two names, one after the other

__global__ void peers_in_shared_memory(int *out, const int *key) {
  __shared__ unsigned peers[256];
  peers[threadIdx.x] = __match_any_sync(0xffffffffu, key[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = -__reduce_add_sync(peers[threadIdx.x], -1);
}

__global__ void vote_of_a_group(unsigned *out, const unsigned *peers, const int *in) {
  unsigned mine = peers[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned voted = __ballot_sync(0xffffffffu, in[threadIdx.x] > 0);
  out[threadIdx.x] = __reduce_or_sync(mine, voted);
}

__global__ void vote_told_by_the_leader(unsigned *out, const unsigned *peers, const int *in) {
  unsigned voted = __ballot_sync(0xffffffffu, in[threadIdx.x] > 0);
  unsigned mine = peers[threadIdx.x];
  out[threadIdx.x] = __shfl_sync(mine, voted, __ffs(mine) - 1);
}

__device__ __noinline__ int count(unsigned group) { return -__reduce_add_sync(group, -1); }

__global__ void counted_in_a_call(int *out, const unsigned *peers) { out[threadIdx.x] = count(peers[threadIdx.x]); }

__global__ void active_in_a_group(unsigned *out, const unsigned *peers) {
  out[threadIdx.x] = __reduce_and_sync(peers[threadIdx.x], __activemask());
}

__global__ void never_negative(int *out, int n) {
  if (n < 0) __builtin_unreachable();
  out[threadIdx.x] = n;
}

__global__ void one_of_three(int *out, int kind) {
  switch (kind) {
    case 0: out[0] = 5; break;
    case 1: out[1] = 7; break;
    case 2: out[2] = 1; break;
    default: __builtin_unreachable();
  }
}

__global__ void persistent(int *out) {
  while (atomicAdd(out, 1) < 100) out[threadIdx.x + 1] += 2;
  __builtin_unreachable();
}

__global__ void assumed(int *out, int n) {
  __builtin_assume(n > 0);
  if (n <= 0) __builtin_unreachable();
  for (int i = 0; i < n; ++i) out[i] = i;
}

__global__ void stops() { __trap(); __builtin_unreachable(); }

[[noreturn]] __device__ __forceinline__ void unsupported() { __trap(); __builtin_unreachable(); }

__global__ void stops_in_a_call(int *out) { unsupported(); }

__global__ void stops_in_assembly(int *out) {
  asm volatile("trap;");
  __builtin_unreachable();
}

template <class T> struct SharedMemory;
template <> struct SharedMemory<float> {
  __device__ operator float *() { extern __shared__ float smem_f[]; return smem_f; }
};
template <> struct SharedMemory<double> {
  __device__ operator double *() { extern __shared__ double smem_d[]; return smem_d; }
};

__global__ void phases(float *f, double *d) {
  float *a = SharedMemory<float>();
  a[threadIdx.x] = f[threadIdx.x];
  __syncthreads();
  f[threadIdx.x] = a[threadIdx.x ^ 1];
  __syncthreads();
  double *b = SharedMemory<double>();
  b[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[threadIdx.x] = b[threadIdx.x ^ 1];
}

extern __shared__ int counts[];
extern __shared__ float sums[];

__global__ void phases_in_a_loop(int *n, float *x, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    counts[threadIdx.x] = n[threadIdx.x];
    __syncthreads();
    n[threadIdx.x] = counts[threadIdx.x ^ 1];
    __syncthreads();
    if (threadIdx.x < 32) sums[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] += sums[threadIdx.x & 31];
    __syncthreads();
  }
}

__global__ void one_or_the_other(int *n, float *x, bool which) {
  if (which) {
    counts[threadIdx.x] = n[threadIdx.x];
    __syncthreads();
    n[threadIdx.x] = counts[threadIdx.x ^ 1];
  } else {
    sums[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = sums[threadIdx.x ^ 1];
  }
}

__device__ __noinline__ float total(float value) {
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  return sums[0];
}

__global__ void phases_of_functions(int *n, float *x) {
  counts[threadIdx.x] = n[threadIdx.x];
  __syncthreads();
  n[threadIdx.x] = counts[threadIdx.x ^ 1];
  __syncthreads();
  x[threadIdx.x] = total(x[threadIdx.x]);
}
