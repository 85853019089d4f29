// targets: sm_100a
// ptxcheck-args: -W potential:PTX710
// why: each round of a loop allocates tensor memory, and it is freed once

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                             \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

// perhaps wrong: with a second tile, the memory of the first one is lost.
__global__ void __launch_bounds__(128) for_each_tile(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (threadIdx.x < 32) ALLOCATE(&slot, 64);  //~ PTX710?
    __syncthreads();
    out[tile * 128 + threadIdx.x] = slot;
    __syncthreads();
  }
  if (threadIdx.x < 32) FREE(slot, 64);
}

// perhaps wrong: by the warp that does both.
__global__ void __launch_bounds__(128) by_one_warp(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    for (int tile = 0; tile < tiles; tile++) {
      ALLOCATE(&slot, 32);  //~[nvcc,G,ir] PTX710?
      __syncwarp();
      out[tile * 32 + threadIdx.x] = slot;
      __syncwarp();
    }
    FREE(slot, 32);
  }
}
