// targets: sm_90 sm_120
// why: mbarriers that are made by one thread, by all, in a loop, by a function, or again without inval

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

__device__ __noinline__ void make(unsigned long long *bar, unsigned count) { INIT(bar, count); }

__global__ void by_one(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void by_a_function(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) make(&all, blockDim.x);
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void in_a_loop(int *out, int last) {
  __shared__ alignas(8) unsigned long long stages[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; i++) INIT(&stages[i], blockDim.x);
  __syncthreads();
  ARRIVE(&stages[last & 3]);
  WAIT(&stages[last & 3], 0);
  out[threadIdx.x] = 1;
}

// Each thread makes one.
__global__ void one_each(int *out) {
  __shared__ alignas(8) unsigned long long stages[8];
  if (threadIdx.x < 8) INIT(&stages[threadIdx.x], blockDim.x);
  __syncthreads();
  ARRIVE(&stages[5]);
  WAIT(&stages[5], 0);
  out[threadIdx.x] = 1;
}

__global__ void made_again(int *out) {
  __shared__ alignas(8) unsigned long long all;
  for (int i = 0; i < 2; i++) {
    if (threadIdx.x == 0) INIT(&all, blockDim.x);
    __syncthreads();
    ARRIVE(&all);
    WAIT(&all, 0);
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

// In dynamic shared memory behind the tile, whose size the host knows.
__global__ void behind_the_tile(int *out, const int *in, unsigned bytes) {
  extern __shared__ __align__(128) char pool[];
  unsigned long long *full = reinterpret_cast<unsigned long long *>(pool + bytes);
  if (threadIdx.x == 0) {
    INIT(full, 1);
    EXPECT(full, bytes);
    BULK_LOAD(pool, in, bytes, full);
  }
  __syncthreads();
  WAIT(full, 0);
  out[threadIdx.x] = reinterpret_cast<int *>(pool)[threadIdx.x];
}
