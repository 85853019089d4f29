// targets: sm_100a
// ptxcheck-args: -W potential:PTX711
// why: before tensor memory of a pair of CTAs is freed, something says that the other CTA has allocated it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define SYNC_CLUSTER() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE_THERE(barrier, rank)                                                                                   \
  asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"                                 \
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(SHARED(barrier)), "r"(rank) \
               : "memory")
#define WAIT(barrier, parity)                                                                                        \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], " \
               "%1;\n\t@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")

__device__ __noinline__ void sync_called() { SYNC_CLUSTER(); }

__global__ void __cluster_dims__(2, 1, 1) barrier_before_it_is_freed(unsigned *out) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) FREE(slot, 64);
}

__global__ void __cluster_dims__(2, 1, 1) barrier_after_it_is_allocated(unsigned *out) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  SYNC_CLUSTER();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

__global__ void __cluster_dims__(2, 1, 1) barrier_in_a_call(unsigned *out) {
  __shared__ unsigned slot;
  sync_called();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  sync_called();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// Both CTAs tell each other by an mbarrier.
__global__ void __cluster_dims__(2, 1, 1) told_by_mbarriers(unsigned *out) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long allocated;
  if (threadIdx.x == 0) {
    INIT(&allocated, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) ARRIVE_THERE(&allocated, blockIdx.x % 2 ^ 1);
    WAIT(&allocated, 0);
    __syncwarp();
    FREE(slot, 64);
  }
}

// Another warp waits for the other CTA, and the block for that warp.
__global__ void __cluster_dims__(2, 1, 1) another_warp_waits(unsigned *out) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long allocated;
  if (threadIdx.x == 0) {
    INIT(&allocated, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  SYNC_CLUSTER();
  if (threadIdx.x / 32 == 1) {
    WAIT(&allocated, 0);
  } else if (threadIdx.x / 32 == 0) {
    ALLOCATE(&slot, 64);
    if (threadIdx.x == 0) ARRIVE_THERE(&allocated, blockIdx.x % 2 ^ 1);
  }
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// Tiles are worked on in rounds, if there are any.
__global__ void __cluster_dims__(2, 1, 1) with_or_without_work(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  for (int i = 0; i < tiles; i++) {
    out[(i * gridDim.x + blockIdx.x) * 128 + threadIdx.x] = slot + i;
    SYNC_CLUSTER();
  }
  SYNC_CLUSTER();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// The pair tells each other in global memory.
__global__ void __cluster_dims__(2, 1, 1) told_in_global_memory(unsigned *out, unsigned *allocated) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&allocated[blockIdx.x / 2], 1);
    while (atomicAdd(&allocated[blockIdx.x / 2], 0) < 2) {}
  }
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}
