// targets: sm_90 sm_120
// why: shared memory that a copy has read is written again once it was waited for; what no copy reads may be written at any time

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
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

// The thread that sends waits in the round, and a barrier holds the others.
__global__ void wait_in_the_round(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tile, 1024);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    __syncthreads();
  }
}

// The same by one thread, without a loop.
__global__ void straight(int *out) {
  __shared__ alignas(128) int line[4];
  if (threadIdx.x == 0) {
    line[0] = blockIdx.x;
    FENCE();
    BULK_STORE(out, line, 16);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
    line[0] = blockIdx.x + 1;
    FENCE();
    BULK_STORE(out + 4, line, 16);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// Two stages, and none is under way when one is filled.
__global__ void none_under_way(int *out, const int *in) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    INIT(&full[1], 1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in, 1024, &full[0]);
    EXPECT(&full[1], 1024);
    BULK_LOAD(stages[1], in + 256, 1024, &full[1]);
    WAIT(&full[0], 0);
    BULK_STORE(out, stages[0], 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in + 512, 1024, &full[0]);
    WAIT(&full[1], 0);
    BULK_STORE(out + 256, stages[1], 1024);
    BULK_COMMIT();
    WAIT(&full[0], 1);
    BULK_STORE(out + 512, stages[0], 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// The wait of the thread that sends, then a barrier of the block.
__global__ void wait_and_barrier(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];
  __syncthreads();
  out[256 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The halves of a buffer: one is sent while the other is written.
__global__ void halves(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  tile[256 + threadIdx.x] = in[256 + threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + 256, tile + 256, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// Reading what is sent is no harm.
__global__ void read_meanwhile(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  out[256 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Two stages in a loop, one group under way.
__global__ void two_stages(int *out, const int *in, int rounds) {
  __shared__ alignas(128) int stages[2][256];
  for (int i = 0; i < rounds; i++) {
    if (threadIdx.x == 0) BULK_WAIT_READ(1);
    __syncthreads();
    stages[i & 1][threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, stages[i & 1], 1024);
      BULK_COMMIT();
    }
  }
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// The first thread waits in each round, before all write again.
__global__ void wait_in_the_loop(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < 6; i++) {
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

// One round only.
__global__ void one_round(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < 6; i++) {
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tile, 1024);
      BULK_COMMIT();
    }
    if (i >= 0) break;
  }
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// The first thread's words are not among those that are sent.
__global__ void others(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  tile[256 + threadIdx.x] = in[256 + threadIdx.x];
  __syncthreads();
  out[256 + threadIdx.x] = tile[256 + (threadIdx.x ^ 1)];
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// Two tiles in turn, of which one may be under way.
__global__ void in_turn(int *out, const int *in) {
  __shared__ alignas(128) int tiles[2][256];
#pragma unroll 1
  for (int i = 0; i < 6; i++) {
    if (threadIdx.x == 0) BULK_WAIT_READ(1);
    __syncthreads();
    tiles[i & 1][threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tiles[i & 1], 1024);
      BULK_COMMIT();
    }
  }
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}
