// targets: sm_100a
// why: tensor memory of a pair of CTAs is freed, and nothing says that the other CTA has allocated it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define SYNC_CLUSTER() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

// wrong: both have started, and one may free before the other has allocated.
__global__ void __cluster_dims__(2, 1, 1) barrier_before_alone(unsigned *out) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);  //~ PTX711
}

// wrong: one warp does both.
__global__ void __cluster_dims__(2, 1, 1) by_one_warp(unsigned *out) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    __syncwarp();
    unsigned memory = slot;
    out[blockIdx.x * 32 + threadIdx.x] = memory;
    FREE(memory, 64);  //~ PTX711
  }
}

// wrong: without work, it is freed at once.
__global__ void __cluster_dims__(2, 1, 1) without_work(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  unsigned memory = slot;
  if (tiles == 0) {
    if (threadIdx.x < 32) FREE(memory, 64);  //~ PTX711
    return;
  }
  for (int i = 0; i < tiles; i++) out[(i * gridDim.x + blockIdx.x) * 128 + threadIdx.x] = memory + i;
  SYNC_CLUSTER();
  if (threadIdx.x < 32) FREE(memory, 64);
}
