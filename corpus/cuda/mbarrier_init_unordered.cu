// targets: sm_90 sm_120
// why: mbarriers that threads use which nothing makes wait until another one has initialised them

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                                 \
  asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"( \
                   SHARED(bar)), "r"(parity) : "memory")

// All arrive, and the initialisation of another thread may come later: it takes their arrivals back.
__global__ void made_by_all(int *out) {
  __shared__ alignas(8) unsigned long long all;
  INIT(&all, blockDim.x);
  ARRIVE(&all);  //~[!ir-G] PTX709
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void made_by_one(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  ARRIVE(&all);  //~[!ir-G] PTX709
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// One brings a tile, and all wait for it at once.
__global__ void waited_for(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);  //~[!ir-G] PTX709
  out[threadIdx.x] = tile[threadIdx.x];
}

// The thread that brings the tile is another one than that which initialises.
__global__ void other_thread(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  if (threadIdx.x == 32) {
    EXPECT(&full, 1024);  //~[!ir-G] PTX709
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}
