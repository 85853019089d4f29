// targets: sm_90 sm_120
// why: the barrier is that of another CTA, and nothing orders its initialisation before the arrival

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define ARRIVE_AT(mapped) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped) : "memory")
#define CLUSTER_RELAXED() \
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

using Barrier = unsigned long long;

__device__ __forceinline__ unsigned rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ unsigned map(Barrier *bar, unsigned rank) {
  unsigned mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(SHARED(bar)), "r"(rank));
  return mapped;
}

__global__ void __cluster_dims__(2) of_the_other(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  ARRIVE_AT(map(&all, rank() ^ 1));  //~ PTX709
  WAIT(&all, 0);
  out[rank()] = 1;
}

// All but the first go to the first.
__global__ void __cluster_dims__(4) of_the_first(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, 3 * blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  if (rank() != 0) ARRIVE_AT(map(&all, 0));  //~ PTX709
  else WAIT(&all, 0);
  out[rank()] = 1;
}

// The thread's number is the rank.
__global__ void __cluster_dims__(4) of_each(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, 4);
  __syncthreads();
  CLUSTER_RELAXED();
  if (threadIdx.x < 4) ARRIVE_AT(map(&all, threadIdx.x));  //~ PTX709
  WAIT(&all, 0);
  out[rank()] = 1;
}
