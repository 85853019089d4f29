// targets: sm_90 sm_120
// compilers: nvcc
// why: what a copy brings to shared memory is read before it is complete: a barrier waits for threads, not for copies

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

// Of the neighbour: no thread ever waits.
__global__ void neighbours(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  //~ PTX702
}

// Of its own.
__global__ void own(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  out[threadIdx.x] = tile[threadIdx.x];  //~ PTX702
  WAIT_GROUP(0);
}

// Two groups, of which one may still be under way.
__global__ void depth(int *out, const int *in) {
  __shared__ int stages[2][256];
  COPY(&stages[0][threadIdx.x], in + threadIdx.x);
  COMMIT();
  COPY(&stages[1][threadIdx.x], in + 256 + threadIdx.x);
  COMMIT();
  WAIT_GROUP(1);
  int sum = stages[0][threadIdx.x];
  sum += stages[1][threadIdx.x];  //~ PTX702
  out[threadIdx.x] = sum;
}

// A bulk copy of which nobody has waited for the bytes: the barrier is one of threads.
__global__ void bulk(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  int early = tile[threadIdx.x];  //~ PTX702
  WAIT(&full, 0);
  out[threadIdx.x] = early;
}

__global__ void never(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];  //~ PTX702
}
