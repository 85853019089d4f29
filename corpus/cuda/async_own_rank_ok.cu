// targets: sm_90 sm_120
// compilers: nvcc
// why: mapa of the own rank, and clusters of one CTA: the barrier of the block orders the initialisation

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

// A kernel that may be built for larger clusters.
__global__ void __cluster_dims__(1) of_one(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  ARRIVE_AT(map(&all, 0));
  WAIT(&all, 0);
  *out = 1;
}

__global__ void __cluster_dims__(2) of_its_own_rank(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  ARRIVE_AT(map(&all, rank()));
  WAIT(&all, 0);
  out[rank()] = 1;
}

__global__ void __cluster_dims__(2) of_the_first_alone(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  if (rank() == 0) {
    ARRIVE_AT(map(&all, 0));
    WAIT(&all, 0);
    *out = 1;
  }
}

// The function is passed the rank, and the launch passes it.
__device__ __noinline__ void arrive(Barrier *bar, unsigned rank) { ARRIVE_AT(map(bar, rank)); }

__global__ void __cluster_dims__(2) by_a_function(int *out) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  arrive(&all, rank());
  WAIT(&all, 0);
  out[rank()] = 1;
}

__global__ void __cluster_dims__(4) of_the_one_that_the_launch_names(int *out, unsigned chosen) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) INIT(&all, blockDim.x);
  __syncthreads();
  CLUSTER_RELAXED();
  if (chosen != rank()) return;
  arrive(&all, chosen);
  WAIT(&all, 0);
  *out = 1;
}
