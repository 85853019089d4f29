// targets: sm_100a
// why: both CTAs of a pair have started before tensor memory is allocated in them

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(group, slot, columns)                                                                      \
  asm volatile("tcgen05.alloc.cta_group::" group ".sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), \
               "r"(columns)                                                                                 \
               : "memory")
#define FREE(group, address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define ARRIVE() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

__global__ void __cluster_dims__(2, 1, 1) barrier_before(unsigned *out) {
  __shared__ unsigned slot;
  ARRIVE();
  WAIT();
  if (threadIdx.x < 32) ALLOCATE("2", &slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  ARRIVE();
  WAIT();
  if (threadIdx.x < 32) FREE("2", slot, 64);
}

// The arrival comes early, and the wait in the warp's own way.
__global__ void __cluster_dims__(2, 1, 1) split_barrier(unsigned *out) {
  __shared__ unsigned slot;
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
  out[blockIdx.x * 128 + threadIdx.x] = 0;
  asm volatile("barrier.cluster.wait;" ::: "memory");
  if (threadIdx.x < 32) ALLOCATE("2", &slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  ARRIVE();
  WAIT();
  if (threadIdx.x < 32) FREE("2", slot, 64);
}

// The own CTA alone.
__global__ void __cluster_dims__(2, 1, 1) one_cta(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE("1", &slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE("1", slot, 64);
}

// The barrier is in a function.
__device__ __noinline__ void all_have_started() {
  ARRIVE();
  WAIT();
}
__global__ void __cluster_dims__(2, 1, 1) barrier_in_function(unsigned *out) {
  __shared__ unsigned slot;
  all_have_started();
  if (threadIdx.x < 32) ALLOCATE("2", &slot, 64);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  all_have_started();
  if (threadIdx.x < 32) FREE("2", slot, 64);
}
