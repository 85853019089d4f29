// targets: sm_90 sm_120
// why: an initialisation reaches other blocks of the cluster by a release only, and these arrivals are relaxed

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

#define MAPPED(remote, p, rank) \
  unsigned remote;              \
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(SHARED(p)), "r"(rank))
#define ARRIVE_AT(remote) \
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

__global__ void __cluster_dims__(2) relaxed(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 2);
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    ARRIVE(&all);
    MAPPED(other, &all, rank ^ 1);
    ARRIVE_AT(other);  //~ PTX709
  }
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// A proxy fence is for copies, not for other threads.
__global__ void __cluster_dims__(2) proxy_fence(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) {
    INIT(&all, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    MAPPED(other, &all, rank ^ 1);
    ARRIVE_AT(other);  //~ PTX709
  }
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}
