// targets: sm_100a
// why: tensor memory that is freed on all ways, whoever does it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

// Another warp frees it.
__global__ void other_warp(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x >= 96) FREE(slot, 128);
}

// Two, freed by two warps.
__global__ void two_warps(unsigned *out) {
  __shared__ unsigned slots[2];
  if (threadIdx.x < 32) {
    ALLOCATE(&slots[0], 64);
    ALLOCATE(&slots[1], 32);
  }
  __syncthreads();
  out[threadIdx.x] = slots[threadIdx.x & 1];
  __syncthreads();
  if (threadIdx.x < 32)
    FREE(slots[0], 64);
  else if (threadIdx.x < 64)
    FREE(slots[1], 32);
}

// Two sizes, one of which is taken.
__global__ void either(unsigned *out, int wide) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    if (wide)
      ALLOCATE(&slot, 256);
    else
      ALLOCATE(&slot, 64);
  }
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) {
    if (wide)
      FREE(slot, 256);
    else
      FREE(slot, 64);
  }
}

// Blocks with nothing to do end before.
__global__ void ends_before(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (blockIdx.x >= n) return;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 128);
}

// The way with nothing to do frees it, too.
__global__ void both_ways(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  if (blockIdx.x >= n) {
    if (threadIdx.x < 32) FREE(slot, 128);
    return;
  }
  out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 128);
}

// Some threads end early, and warp 0 does not.
__global__ void threads_end(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  out[threadIdx.x] = slot;
  if (threadIdx.x >= 32) return;
  FREE(slot, 128);
}

// Rounds that allocate and free.
__global__ void rounds(unsigned *out, int n) {
  __shared__ unsigned slot;
  for (int i = 0; i < n; i++) {
    if (threadIdx.x < 32) ALLOCATE(&slot, 128);
    __syncthreads();
    out[i * 128 + threadIdx.x] = slot;
    __syncthreads();
    if (threadIdx.x < 32) FREE(slot, 128);
  }
}

// Allocated under the condition under which it is freed.
__global__ void same_condition(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (n > 5 && threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  if (n <= 5) return;
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 128);
}

// The number of the warp comes from a shuffle.
__global__ void warp_of_shuffle(unsigned *out) {
  __shared__ unsigned slot;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  if (warp == 0) ALLOCATE(&slot, 128);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (warp == 1) FREE(slot, 128);
}

// Two rows of threads: each first warp.
__global__ void rows(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.y == 0) ALLOCATE(&slot, 128);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.y == 1) FREE(slot, 128);
}

// A trap is no end that counts.
__global__ void trapped(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  if (n > 5) __trap();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 128);
}

// In four parts.
__global__ void four_parts(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < 4; i++) FREE(slot + 32 * i, 32);
  }
}

// A size of the host.
__global__ void size_of_host(unsigned *out, int columns) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, columns);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, columns);
}

// In functions.
__device__ __noinline__ void allocate(unsigned *slot) { ALLOCATE(slot, 128); }
__device__ __noinline__ void release(unsigned address) { FREE(address, 128); }
__global__ void in_functions(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) allocate(&slot);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) release(slot);
}
__global__ void released_in_function(unsigned *out, int n) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 128);
  __syncthreads();
  if (blockIdx.x < n) out[blockIdx.x * 128 + threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) release(slot);
}

// The fourth warp.
__global__ void fourth_warp(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x / 32 == 3) ALLOCATE(&slot, 64);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x / 32 == 3) FREE(slot, 64);
}

// A loop that is left in the middle, and one way out.
__global__ void left_in_the_middle(unsigned *out, const int *in, int n) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    if (in[i] == 0) break;
    out[i * 128 + threadIdx.x] = slot;
  }
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// Another parameter decides how much is done, not whether it is freed.
__global__ void modes(unsigned *out, int mode) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 64);
  __syncthreads();
  if (mode == 0)
    out[threadIdx.x] = slot;
  else if (mode == 1)
    out[threadIdx.x] = slot + 1;
  else
    out[0] = 0;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}

// Twice, one after the other.
__global__ void twice(unsigned *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) ALLOCATE(&slot, 256);
  __syncthreads();
  out[threadIdx.x] = slot;
  __syncthreads();
  if (threadIdx.x < 32) {
    FREE(slot, 256);
    ALLOCATE(&slot, 64);
  }
  __syncthreads();
  out[threadIdx.x + 128] = slot;
  __syncthreads();
  if (threadIdx.x < 32) FREE(slot, 64);
}
