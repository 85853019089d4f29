// targets: sm_90
// compilers: nvcc
// ptxcheck-args: -W potential:PTX702
// why: a copy into all CTAs of the cluster brings bytes to the own one, too

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
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

using Barrier = unsigned long long;

__global__ void __cluster_dims__(2) all_of_two(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 2);
    EXPECT(&full, 2048);
  }
  CLUSTER_SYNC();
  if (threadIdx.x == 0) {
    BULK_MULTICAST(tile, in, 1024, &full, 3);
    out[0] = tile[0];  //~ PTX702
    EXPECT(&full, 0);
  }
  WAIT(&full, 0);
  CLUSTER_SYNC();
}

// The largest cluster, whatever the launch makes of it.
__global__ void all_of_sixteen(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
  }
  CLUSTER_SYNC();
  if (threadIdx.x == 0) {
    BULK_MULTICAST(tile, in, 1024, &full, 0xffff);
    out[0] = tile[0];  //~ PTX702
  }
  WAIT(&full, 0);
  CLUSTER_SYNC();
}

// The host passes the mask.
__global__ void as_launched(int *out, const int *in, unsigned mask) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
  }
  CLUSTER_SYNC();
  if (threadIdx.x == 0) {
    BULK_MULTICAST(tile, in, 1024, &full, mask);
    out[0] = tile[0];  //~ PTX702?
  }
  WAIT(&full, 0);
  CLUSTER_SYNC();
}
