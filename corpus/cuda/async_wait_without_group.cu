// targets: sm_90 sm_120
// why: a wait for groups completes what was committed to one of its kind, and these copies were not

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

__global__ void no_commit(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  WAIT_GROUP(0);  //~ PTX703
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void other_kind(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
    WAIT_GROUP(0);  //~ PTX703
  }
}

__global__ void bulk_without_commit(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_WAIT_READ(0);  //~ PTX703
  }
}

// The wait stands in front of the commit.
__global__ void wait_first(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  WAIT_GROUP(0);  //~ PTX703
  COMMIT();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  //~ PTX702
}
