// targets: sm_100a
// ptxcheck-args: -W potential:PTX710
// why: what a round of a loop allocates is freed in it, or one round alone allocates

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                             \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

__global__ void __launch_bounds__(128) in_each_round(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (threadIdx.x < 32) ALLOCATE(&slot, 64);
    __syncthreads();
    out[tile * 128 + threadIdx.x] = slot;
    __syncthreads();
    if (threadIdx.x < 32) FREE(slot, 64);
  }
}

// Another warp frees, in each round of its own loop.
__global__ void __launch_bounds__(64) freed_by_another_warp(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    for (int tile = 0; tile < tiles; tile++) {
      ALLOCATE(&slot, 64);
      asm volatile("bar.sync 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    }
  } else {
    for (int tile = 0; tile < tiles; tile++) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      unsigned memory = slot;
      out[tile * 32 + threadIdx.x] = memory;
      FREE(memory, 64);
      asm volatile("bar.sync 2, 64;" ::: "memory");
    }
  }
}

// Only the first round allocates.
__global__ void __launch_bounds__(128) in_the_first_round(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  bool is_there = false;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (!is_there) {
      if (threadIdx.x < 32) ALLOCATE(&slot, 64);
      is_there = true;
    }
    __syncthreads();
    out[tile * 128 + threadIdx.x] = slot;
    __syncthreads();
  }
  if (is_there && threadIdx.x < 32) FREE(slot, 64);
}

// As many warps free as rounds allocate.
__global__ void __launch_bounds__(128) freed_by_four_warps(unsigned *out) {
  __shared__ unsigned slots[4];
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0; i < 4; i++) ALLOCATE(&slots[i], 32);
  }
  __syncthreads();
  unsigned memory = slots[threadIdx.x / 32];
  out[threadIdx.x] = memory;
  FREE(memory, 32);
}

// A loop frees what a loop has allocated.
__global__ void __launch_bounds__(128) two_loops(unsigned *out, int parts) {
  __shared__ unsigned slots[8];
  if (threadIdx.x < 32) {
    for (int i = 0; i < parts; i++) ALLOCATE(&slots[i], 32);
    __syncwarp();
    for (int i = 0; i < parts; i++) out[i * 32 + threadIdx.x] = slots[i];
    for (int i = 0; i < parts; i++) FREE(slots[i], 32);
  }
}
