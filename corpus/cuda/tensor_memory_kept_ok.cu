// targets: sm_100a
// why: tensor memory that another warp frees, or a function

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                             \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

__device__ __noinline__ void give_back(unsigned address) { FREE(address, 64); }

__global__ void by_another_warp(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x / 32 == 1) FREE(slot, 64);
}

__global__ void by_a_function(unsigned *out, bool last) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32 && last) give_back(slot);
}
