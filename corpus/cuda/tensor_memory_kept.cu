// targets: sm_100a
// why: tensor memory that is never freed, and a number of columns that the instruction forbids

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                             \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

__global__ void kept(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);  //~ PTX710
  __syncthreads();
  out[threadIdx.x] = slot;
}

__global__ void odd_columns(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 48);  //~ PTX707
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 48);  //~ PTX707
}
