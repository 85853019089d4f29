// targets: sm_100a
// ptxcheck-args: -W potential:PTX702
// why: the address of tensor memory is read by a warp that does not wait, or not always, for the one that allocates it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define WAIT(barrier, parity)                                                                                        \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"       \
               "@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")

// wrong: no barrier at all.
__global__ void __launch_bounds__(64) at_once(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
  } else {
    unsigned memory = slot;  //~ PTX702
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}

// wrong: the barrier comes before.
__global__ void __launch_bounds__(128) barrier_before(unsigned *out) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  unsigned memory = slot;  //~ PTX702
  out[threadIdx.x] = memory;
  __syncthreads();
  if (threadIdx.x < 32) FREE(memory, 64);
}

// perhaps wrong: without tiles, the epilogue waits for nothing before it frees the memory.
__global__ void __launch_bounds__(64) without_tiles(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    for (int i = 0; i < tiles; i++) {
      if (i > 0) WAIT(&empty, (i - 1) & 1);
      __syncwarp();
      if (threadIdx.x == 0) ARRIVE(&full);
    }
  } else {
    unsigned sum = 0;
    for (int i = 0; i < tiles; i++) {
      WAIT(&full, i & 1);
      sum += out[i];
      ARRIVE(&empty);
    }
    unsigned memory = slot;  //~ PTX702?
    out[threadIdx.x] = sum;
    FREE(memory, 64);
  }
}
