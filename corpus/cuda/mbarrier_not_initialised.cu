// targets: sm_90 sm_120
// why: operations and copies on an mbarrier that no init has made one

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void never(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);  //~ PTX705
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void arrives_before(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) {
    ARRIVE(&all);  //~[!ir-G] PTX705
    INIT(&all, blockDim.x);
  }
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// Of two, one is.
__global__ void one_of_two(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
  ARRIVE(&empty);  //~[!ir-G] PTX705
  WAIT(&empty, 0);
}

// The last of an array, which the loop leaves out.
__global__ void too_few(int *out) {
  __shared__ alignas(8) unsigned long long stages[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 3; i++) INIT(&stages[i], blockDim.x);
  __syncthreads();
  ARRIVE(&stages[3]);  //~[O3] PTX705
  WAIT(&stages[3], 0);
  out[threadIdx.x] = 1;
}
