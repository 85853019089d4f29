// targets: sm_100a
// why: tensor memory of which a part is freed, or which is not freed where the kernel ends early

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

// wrong: one of two is freed.
__global__ void one_of_two(unsigned *out) {
  __shared__ unsigned slots[2];
  if (threadIdx.x < 32) {
    ALLOCATE(&slots[0], 64);  //~ PTX710
    ALLOCATE(&slots[1], 64);
  }
  __syncthreads();
  out[threadIdx.x] = slots[threadIdx.x & 1];
  __syncthreads();
  if (threadIdx.x < 32) FREE(slots[0], 64);
}

// wrong: a half is freed.
__global__ void one_half(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);  //~ PTX710
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// wrong: blocks with nothing to do end early.
__global__ void early_end(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);  //~ PTX710
  __syncthreads();
  if (blockIdx.x >= n) {
    out[0] = 0;
    return;
  }
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 128);
}
