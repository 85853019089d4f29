// targets: sm_90 sm_120
// why: waits for groups of which there are none, one, or several, and copies that something else completes

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
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define COPIES_ARRIVE(bar) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void committed(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// As descriptors made in the kernel have it: there is no copy at all.
__global__ void nothing_to_wait_for(int *out) {
  BULK_COMMIT();
  BULK_WAIT_READ(0);
  WAIT_GROUP(0);
  out[threadIdx.x] = 1;
}

// The barrier completes the copies, and the wait is idle.
__global__ void tracked(int *out, const int *in) {
  __shared__ int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, blockDim.x);
  __syncthreads();
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COPIES_ARRIVE(&full);
  WAIT_GROUP(0);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Each kind has its own.
__global__ void both_kinds(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  WAIT_GROUP(0);
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// The wait at the top of a round is for the copy of the round before.
__global__ void next_round(int *out, const int *in, int rounds) {
  __shared__ alignas(128) int tile[256];
  for (int i = 0; i < rounds; i++) {
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

// The kernel ends with its copies under way, and they complete all the same.
__global__ void left_to_the_end(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
}

// A wait that has nothing to wait for yet, and a later one.
__global__ void two_waits(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  WAIT_GROUP(0);
  COMMIT();
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
