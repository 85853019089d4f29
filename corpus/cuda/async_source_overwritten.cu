// targets: sm_90 sm_120
// compilers: nvcc
// why: shared memory that a copy under way still reads is written again, before the wait for it

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

// The same by one thread, without a loop.
__global__ void straight(int *out) {
  __shared__ alignas(128) int line[4];
  if (threadIdx.x == 0) {
    line[0] = blockIdx.x;
    FENCE();
    BULK_STORE(out, line, 16);
    BULK_COMMIT();
    line[0] = blockIdx.x + 1;  //~ PTX704
    FENCE();
    BULK_WAIT_READ(0);
    BULK_STORE(out + 4, line, 16);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// Two stages, of which the wait lets one be under way: the one that is filled next.
__global__ void depth_equals_stages(int *out, const int *in) {
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
    BULK_WAIT_READ(1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in + 512, 1024, &full[0]);  //~ PTX704
    WAIT(&full[1], 0);
    BULK_STORE(out + 256, stages[1], 1024);
    BULK_COMMIT();
    WAIT(&full[0], 1);
    BULK_STORE(out + 512, stages[0], 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// The wait stands behind the loop: the next round writes while the copy of this one reads.
__global__ void wait_behind_the_loop(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < 6; i++) {
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];  //~ PTX704
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

// All threads write what the first one sends.
__global__ void by_all(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];  //~ PTX704
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + 256, tile, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}
