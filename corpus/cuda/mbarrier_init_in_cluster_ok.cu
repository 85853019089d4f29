// targets: sm_90 sm_120
// why: an initialisation that other blocks of the cluster see, by its own fence or by an arrival that releases

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

#define MAPPED(remote, p, rank) \
  unsigned remote;              \
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(SHARED(p)), "r"(rank))
#define ARRIVE_AT(remote) \
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

__global__ void __cluster_dims__(2) fenced(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) {
    INIT(&all, 2);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    ARRIVE(&all);
    MAPPED(other, &all, rank ^ 1);
    ARRIVE_AT(other);
  }
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void __cluster_dims__(2) releases(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 2);
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    ARRIVE(&all);
    MAPPED(other, &all, rank ^ 1);
    ARRIVE_AT(other);
  }
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// Nobody of the other blocks uses it.
__global__ void __cluster_dims__(2) for_itself(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Each block brings a half to both, and expects the whole.
__global__ void __cluster_dims__(2) halves(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    EXPECT(&full, 1024);
  }
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1], 512, [%2], %3;" ::"r"(SHARED(tile + rank * 128)),
                 "l"(__cvta_generic_to_global(in + rank * 128)), "r"(SHARED(&full)),
                 "h"(static_cast<unsigned short>(3)) : "memory");
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
}
