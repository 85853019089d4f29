// targets: sm_100a
// ptxcheck-args: -W potential:PTX712
// why: accesses of tensor memory that are waited for before others may know of them

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

__global__ void __launch_bounds__(256) waited(unsigned *out, const unsigned *in, int rounds) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    for (int round = 0; round < rounds; round++) {
      if (round > 0) WAIT(&empty, (round - 1) & 1);
      FENCE_AFTER();
      STORE(memory, in[round * 128 + threadIdx.x]);
      WAIT_FOR_STORES();
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

// The results are used: that completes the load.
__global__ void __launch_bounds__(256) used_before(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    out[threadIdx.x - 128] = value + 1;
    FENCE_BEFORE();
    ARRIVE(&empty);
  }
  EPILOGUE();
}

// An arrival about something else lies between the store and its wait.
__global__ void __launch_bounds__(256) other_arrival(unsigned *out, const unsigned *in) {
  PROLOGUE();
  __shared__ unsigned numbers[128];
  __shared__ alignas(8) unsigned long long read;
  if (threadIdx.x == 0) INIT(&read, 128);
  if (threadIdx.x < 128) numbers[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 128) {
    const unsigned number = numbers[127 - threadIdx.x];
    STORE(memory, number);
    ARRIVE(&read);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&read, 0);
    numbers[threadIdx.x - 128] = 0;
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// One wait for several stores.
__global__ void __launch_bounds__(256) several_stores(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    for (int i = 0; i < 4; i++) STORE(memory + i, in[i * 128 + threadIdx.x]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned value, sum = 0;
    for (int i = 0; i < 4; i++) {
      LOAD(value, memory + i);
      WAIT_FOR_LOADS();
      sum += value;
    }
    out[threadIdx.x - 128] = sum;
  }
  EPILOGUE();
}

// The wait is in a function.
__device__ __noinline__ void publish(unsigned long long *barrier) {
  WAIT_FOR_STORES();
  FENCE_BEFORE();
  ARRIVE(barrier);
}
__device__ __noinline__ void store_and_wait(unsigned memory, unsigned value) {
  STORE(memory, value);
  WAIT_FOR_STORES();
}
__global__ void __launch_bounds__(256) wait_in_function(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    publish(&full);
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
__global__ void __launch_bounds__(256) both_in_function(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    store_and_wait(memory, in[threadIdx.x]);
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

// A block barrier before the roles part, and one after the waits.
__global__ void __launch_bounds__(256) block_barriers(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    FENCE_BEFORE();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// The next load is under way while the first one's results go out.
__global__ void __launch_bounds__(256) two_stages(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    STORE(memory + 1, in[threadIdx.x + 128]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned a, b;
    LOAD(a, memory);
    WAIT_FOR_LOADS();
    LOAD(b, memory + 1);
    out[threadIdx.x - 128] = a;
    WAIT_FOR_LOADS();
    out[threadIdx.x] = b;
    FENCE_BEFORE();
    ARRIVE(&empty);
  }
  EPILOGUE();
}

// Only one way stores, and it waits.
__global__ void __launch_bounds__(256) one_way(unsigned *out, const unsigned *in, int mode) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    if (mode != 0) {
      STORE(memory, in[threadIdx.x]);
      WAIT_FOR_STORES();
    }
    FENCE_BEFORE();
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    FENCE_AFTER();
    unsigned value = 0;
    if (mode != 0) LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// Nothing reads what is stored.
__global__ void __launch_bounds__(256) nothing_reads(const unsigned *in) {
  PROLOGUE();
  STORE(memory, in[threadIdx.x]);
  EPILOGUE();
}

// One elected lane arrives, after all lanes have waited.
__global__ void __launch_bounds__(256) elected_arrival(unsigned *out, const unsigned *in) {
  PROLOGUE();
  __shared__ alignas(8) unsigned long long warps;
  if (threadIdx.x == 0) INIT(&warps, 4);
  __syncthreads();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    __syncwarp();
    if (threadIdx.x % 32 == 0) ARRIVE(&warps);
  } else {
    WAIT(&warps, 0);
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// The wait is behind both ways.
__global__ void __launch_bounds__(256) wait_behind_both(unsigned *out, const unsigned *in, int mode) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    if (mode)
      STORE(memory, in[threadIdx.x]);
    else
      STORE(memory, in[threadIdx.x] * 2);
    WAIT_FOR_STORES();
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

// Each way waits.
__global__ void __launch_bounds__(256) each_way_waits(unsigned *out, const unsigned *in, int mode) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    if (mode) {
      STORE(memory, in[threadIdx.x]);
      WAIT_FOR_STORES();
    } else {
      STORE(memory, in[threadIdx.x] * 2);
      WAIT_FOR_STORES();
    }
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

// The function stores, and its caller waits.
__device__ __noinline__ void store_alone(unsigned memory, unsigned value) { STORE(memory, value); }
__global__ void __launch_bounds__(256) caller_waits(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    store_alone(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
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

// A named barrier, after the wait.
__global__ void __launch_bounds__(256) named_barrier(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
    FENCE_BEFORE();
    asm volatile("bar.arrive 1, 256;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 256;" ::: "memory");
    FENCE_AFTER();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    out[threadIdx.x - 128] = value;
  }
  EPILOGUE();
}

// Several loads and one wait, in rounds.
__global__ void __launch_bounds__(256) loads_in_rounds(unsigned *out, const unsigned *in, int rounds) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    for (int round = 0; round < rounds; round++) {
      if (round > 0) WAIT(&empty, (round - 1) & 1);
      FENCE_AFTER();
      for (int i = 0; i < 4; i++) STORE(memory + i, in[round * 512 + i * 128 + threadIdx.x]);
      WAIT_FOR_STORES();
      FENCE_BEFORE();
      ARRIVE(&full);
    }
  } else {
    for (int round = 0; round < rounds; round++) {
      WAIT(&full, round & 1);
      FENCE_AFTER();
      unsigned value[4];
      for (int i = 0; i < 4; i++) LOAD(value[i], memory + i);
      WAIT_FOR_LOADS();
      FENCE_BEFORE();
      ARRIVE(&empty);
      out[round * 128 + threadIdx.x - 128] = value[0] + value[1] + value[2] + value[3];
    }
  }
  EPILOGUE();
}

// One thread's own store, read again by itself.
__global__ void __launch_bounds__(128) own_column(unsigned *out, const unsigned *in) {
  PROLOGUE();
  STORE(memory, in[threadIdx.x]);
  WAIT_FOR_STORES();
  unsigned value;
  LOAD(value, memory);
  WAIT_FOR_LOADS();
  out[threadIdx.x] = value;
  EPILOGUE();
}

// In place: load, compute, store.
__global__ void __launch_bounds__(256) in_place(unsigned *out, const unsigned *in) {
  PROLOGUE();
  if (threadIdx.x < 128) {
    STORE(memory, in[threadIdx.x]);
    WAIT_FOR_STORES();
    unsigned value;
    LOAD(value, memory);
    WAIT_FOR_LOADS();
    STORE(memory, value * 3);
    WAIT_FOR_STORES();
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
