// targets: sm_90
// compilers: nvcc
// ptxcheck-args: -W potential:PTX702 -W potential:PTX704
// why: copies into other CTAs of the cluster alone bring nothing here, and what is sent from here stays

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define BULK_MULTICAST(to, from, bytes, bar, ctas)                                                                           \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" \
               ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)),    \
               "h"(static_cast<unsigned short>(ctas)) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

using Barrier = unsigned long long;

__device__ unsigned rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The last CTA gives all others a table, and reads its own, which it has computed.
__global__ void __cluster_dims__(4) from_the_last(int *out, const int *in) {
  __shared__ alignas(128) int table[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) INIT(&full, 1);
  table[threadIdx.x] = threadIdx.x;
  FENCE();
  CLUSTER_SYNC();
  if (rank() == 3) {
    if (threadIdx.x == 0) {
      BULK_MULTICAST(table, in, 1024, &full, 0b0111);
      out[4096] = table[0];
    }
  } else {
    if (threadIdx.x == 0) EXPECT(&full, 1024);
    WAIT(&full, 0);
  }
  out[rank() * 256 + threadIdx.x] = table[threadIdx.x];
  CLUSTER_SYNC();
}

// Sent from here while other CTAs get new bytes at the same offset.
__global__ void __cluster_dims__(2, 2) sent_and_passed_on(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    if (rank() != 0) EXPECT(&full, 1024);
  }
  tile[threadIdx.x] = threadIdx.x * 3;
  FENCE();
  CLUSTER_SYNC();
  if (rank() == 0) {
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 1024);
      BULK_COMMIT();
      BULK_MULTICAST(tile, in, 1024, &full, 0b1110);
      BULK_WAIT_READ(0);
    }
  } else {
    WAIT(&full, 0);
    out[rank() * 256 + threadIdx.x] = tile[threadIdx.x];
  }
  CLUSTER_SYNC();
}

// All CTAs, and each waits for its own copy.
__global__ void __cluster_dims__(2) to_all(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
  }
  CLUSTER_SYNC();
  if (rank() == 0 && threadIdx.x == 0) BULK_MULTICAST(tile, in, 1024, &full, 3);
  WAIT(&full, 0);
  out[rank() * 256 + threadIdx.x] = tile[threadIdx.x];
  CLUSTER_SYNC();
}
