// targets: sm_100a
// ptxcheck-args: -W potential:PTX702
// why: whoever reads the address of tensor memory has waited for the warp that allocates it

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

__device__ __noinline__ void sync_called() { __syncthreads(); }

__global__ void __launch_bounds__(128) barrier_of_the_block(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

__global__ void __launch_bounds__(128) barrier_in_a_call(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  sync_called();
  out[threadIdx.x] = slot;
  sync_called();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// The warp that allocates is the only one to read it.
__global__ void __launch_bounds__(128) own_address(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    __syncwarp();
    unsigned memory = slot;
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}

// The same, by a number that all lanes have in common.
__global__ void __launch_bounds__(128) own_address_by_shuffle(unsigned *out) {
  __shared__ unsigned slot;
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == 1) ALLOCATE(&slot, 64);
  __syncwarp();
  if (warp == 1) {
    unsigned memory = slot;
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}

__global__ void __launch_bounds__(64) by_a_named_barrier(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    unsigned memory = slot;
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}

// An mbarrier for the allocation alone, whatever the tiles are.
__global__ void __launch_bounds__(64) with_and_without_tiles(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long full, empty, allocated;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
    INIT(&allocated, 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    ARRIVE(&allocated);
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
    WAIT(&allocated, 0);
    unsigned memory = slot;
    out[threadIdx.x] = sum;
    FREE(memory, 64);
  }
}

// Without tiles, nothing is allocated, and nothing is read.
__global__ void __launch_bounds__(64) allocated_for_tiles(unsigned *out, int tiles) {
  __shared__ unsigned slot;
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (tiles == 0) return;
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    __syncwarp();
    if (threadIdx.x == 0) ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    unsigned memory = slot;
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}

// The word holds something else first, until the block has met.
__global__ void __launch_bounds__(64) used_before(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x == 0) slot = out[64];
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// A flag says that it is there.
__global__ void __launch_bounds__(64) by_a_flag(unsigned *out) {
  __shared__ unsigned slot;
  __shared__ volatile unsigned is_there;
  if (threadIdx.x == 0) is_there = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    ALLOCATE(&slot, 64);
    __threadfence_block();
    if (threadIdx.x == 0) is_there = 1;
  } else {
    while (is_there == 0) {}
    __threadfence_block();
    unsigned memory = slot;
    out[threadIdx.x] = memory;
    FREE(memory, 64);
  }
}
