// targets: sm_90 sm_120
// compilers: nvcc
// ptxcheck-args: -W potential:PTX704
// why: shared memory that a copy may still read is written again: in a round that may be none, or on some ways only

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

// Nobody knows how many rounds there are.
__global__ void unknown_rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];  //~ PTX704?
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tile, 1024);
      BULK_COMMIT();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// The wait is left out on some ways.
__global__ void wait_on_some_ways(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
    if (n > 2) BULK_WAIT_READ(0);
  }
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];  //~ PTX704?
  __syncthreads();
  out[256 + threadIdx.x] = tile[threadIdx.x ^ 1];
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// Right: waited for in each round, and on each way.
__global__ void wait_in_each_round(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (threadIdx.x == 0) BULK_WAIT_READ(0);
    __syncthreads();
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tile, 1024);
      BULK_COMMIT();
    }
  }
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}
