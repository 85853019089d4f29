// targets: sm_100a
// why: tensor memory is allocated in both CTAs of a pair, one of which may not have started

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define SYNC_CLUSTER() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

// wrong: nothing says that the other CTA has started.
__global__ void __cluster_dims__(2, 1, 1) allocated_at_once(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);  //~ PTX711
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// wrong: the barrier comes too late.
__global__ void __cluster_dims__(2, 1, 1) barrier_behind(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);  //~ PTX711
  SYNC_CLUSTER();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) FREE(slot, 64);
}
