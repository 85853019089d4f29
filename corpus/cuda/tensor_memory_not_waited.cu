// targets: sm_100a
// why: stores of tensor memory that a thread does not wait for before it tells others that they are made

#define DEV __device__ __forceinline__
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define ALLOCATE(slot, columns)                                                                                      \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")
#define LOAD(value, address) \
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(value) : "r"(address) : "memory")
#define STORE(address, value) \
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(value) : "memory")
#define WAIT_FOR_LOADS() asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory")
#define WAIT_FOR_STORES() asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory")
#define FENCE_BEFORE() asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory")
#define FENCE_AFTER() asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory")
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define WAIT(barrier, parity)                                                                                        \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"       \
               "@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")

// Four warps store, four others load; a barrier in memory for each direction.
#define PROLOGUE()                                                     \
  __shared__ unsigned slot;                                            \
  __shared__ alignas(8) unsigned long long full, empty;                \
  if (threadIdx.x == 0) {                                              \
    INIT(&full, 128);                                                  \
    INIT(&empty, 128);                                                 \
  }                                                                    \
  if (threadIdx.x < 32) ALLOCATE(&slot, 32);                           \
  __syncthreads();                                                     \
  const unsigned memory = slot
#define EPILOGUE()                                                     \
  __syncthreads();                                                     \
  if (threadIdx.x < 32) FREE(memory, 32)

// wrong: the arrival may come before the store is complete.
__global__ void __launch_bounds__(256) store_not_waited(unsigned *out, const unsigned *in, int rounds) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    for (int round = 0; round < rounds; round++) {
      if (round > 0) WAIT(&empty, (round - 1) & 1);
      STORE(memory, in[round * 128 + threadIdx.x]);  //~ PTX712
      FENCE_BEFORE();
      ARRIVE(&full);
    }
  } else {
    for (int round = 0; round < rounds; round++) {
      WAIT(&full, round & 1);
      FENCE_AFTER();
      unsigned value;
      LOAD(value, memory);
      WAIT_FOR_LOADS();
      FENCE_BEFORE();
      ARRIVE(&empty);
      out[round * 128 + threadIdx.x - 128] = value;
    }
  }
  EPILOGUE();
}

// wrong: the same without a fence, and a barrier of the block.
__global__ void __launch_bounds__(256) block_barrier(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) STORE(memory, in[threadIdx.x]);  //~ PTX712
  __syncthreads();
  if (threadIdx.x >= 128) {
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// wrong: the function that stores does not wait, and its caller neither.
__device__ __noinline__ void store_slowly(unsigned memory, unsigned a) {
  STORE(memory, a);  //~ PTX712
}
__global__ void __launch_bounds__(256) in_function(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    store_slowly(memory, in[threadIdx.x]);
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}
