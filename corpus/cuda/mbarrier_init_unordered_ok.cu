// targets: sm_90 sm_120
// why: mbarriers that a barrier of the block or the warp, or another mbarrier, hands on to those who use them

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

__global__ void made_by_all(int *out) {
  __shared__ alignas(8) unsigned long long all;
  INIT(&all, blockDim.x);
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// By one lane, for its warp.
__global__ void in_a_warp(int *out, const int *in) {
  __shared__ alignas(128) int tiles[8][32];
  __shared__ alignas(8) unsigned long long full[8];
  unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    INIT(&full[warp], 1);
    EXPECT(&full[warp], 128);
    BULK_LOAD(tiles[warp], in + warp * 32, 128, &full[warp]);
  }
  __syncwarp();
  WAIT(&full[warp], 0);
  out[threadIdx.x] = tiles[warp][threadIdx.x % 32];
}

// Neither a proxy fence nor one for the initialisation is owed to a copy of the same block.
__global__ void no_fence(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Another mbarrier hands it on.
__global__ void by_another(int *out) {
  __shared__ alignas(8) unsigned long long first, second;
  if (threadIdx.x == 0) INIT(&first, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    INIT(&second, blockDim.x);
    ARRIVE(&first);
  }
  WAIT(&first, 0);
  ARRIVE(&second);
  WAIT(&second, 0);
  out[threadIdx.x] = 1;
}

// By one thread that does all else with it, too; and by a flag.
__global__ void by_itself(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
    WAIT(&full, 0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void by_a_flag(int *out) {
  __shared__ alignas(8) unsigned long long all;
  __shared__ volatile int ready;
  ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    INIT(&all, blockDim.x);
    __threadfence_block();
    ready = 1;
  }
  while (!ready) {
  }
  __threadfence_block();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// Two barriers, of which the thread initialises the one that it uses.
__global__ void two(int *out, const int *in) {
  __shared__ alignas(128) int tiles[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(tiles[0], in, 1024, &full[0]);
  }
  if (threadIdx.x == 32) {
    INIT(&full[1], 1);
    EXPECT(&full[1], 1024);
    BULK_LOAD(tiles[1], in + 256, 1024, &full[1]);
  }
  __syncthreads();
  WAIT(&full[0], 0);
  WAIT(&full[1], 0);
  out[threadIdx.x] = tiles[0][threadIdx.x] + tiles[1][threadIdx.x];
}
