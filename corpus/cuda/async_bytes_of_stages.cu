// targets: sm_90 sm_120
// why: the mbarrier of a stage expects other bytes than the copies of the stage bring, whichever stage it is

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
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

__global__ void twice_as_many(int *out, const int *in, int n) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x < 2) INIT(&full[threadIdx.x], 1);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) {
      EXPECT(&full[i & 1], 2048);  //~[O3] PTX706
      BULK_LOAD(stages[i & 1], in + i * 256, 1024, &full[i & 1]);
    }
    WAIT(&full[i & 1], (i >> 1) & 1);
    out[i * 256 + threadIdx.x] = stages[i & 1][255 - threadIdx.x];
    __syncthreads();
  }
}

// A second copy that nothing expects.
__global__ void one_of_two(int *out, const int *in, const int *weights, int n) {
  __shared__ alignas(128) int stages[2][256], factors[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x < 2) INIT(&full[threadIdx.x], 1);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) {
      EXPECT(&full[i & 1], 1024);  //~[O3] PTX706
      BULK_LOAD(stages[i & 1], in + i * 256, 1024, &full[i & 1]);
      BULK_LOAD(factors[i & 1], weights + i * 256, 1024, &full[i & 1]);
    }
    WAIT(&full[i & 1], (i >> 1) & 1);
    out[i * 256 + threadIdx.x] = stages[i & 1][255 - threadIdx.x] * factors[i & 1][threadIdx.x];
    __syncthreads();
  }
}
