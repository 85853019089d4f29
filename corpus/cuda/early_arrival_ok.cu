// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX714
// why: the lanes of a warp meet before one of them arrives for all; or each arrives, or what is read is another matter

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

__global__ void met_before(int *out, const int *in) {
  __shared__ int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 4);
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (threadIdx.x % 32 == 0) ARRIVE(&full);
  } else if (threadIdx.x < 160) {
    WAIT(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x - 127];
  }
}

__global__ void met_before_the_election(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (elected()) ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}

__global__ void all_arrive(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}

// Only the lane that arrives has stored what is read.
__global__ void own_store(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      tile[0] = in[0];
      ARRIVE(&full);
    }
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[0];
  }
}

// What the other lanes store is read behind a barrier of the block.
__global__ void read_later(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[0];
  }
  __syncthreads();
  if (threadIdx.x == 64) out[1] = tile[1];
}

// Two waits: one for the arrival, one for the stores.
__global__ void two_waits(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full, stored;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&stored, 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    ARRIVE(&stored);
    if (threadIdx.x == 0) ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    WAIT(&stored, 0);
    out[0] = tile[1];
  }
}

// The stores are of the phase before, which a barrier of the block has ended.
__global__ void stored_long_before(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  if (threadIdx.x < 32) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}

// A flag of the other lane, that the one which arrives waits for.
__global__ void with_a_flag(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ volatile int count;
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    count = 0;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    __threadfence_block();
    if (threadIdx.x == 1) count = 1;
    if (threadIdx.x == 0) {
      while (count == 0) {}
      __threadfence_block();
      ARRIVE(&full);
    }
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}

// Stored behind the arrival, for another reader.
__global__ void stored_behind(int *out, const int *in) {
  __shared__ int tile[32], first;
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      first = in[0];
      ARRIVE(&full);
    }
    tile[threadIdx.x] = in[threadIdx.x];
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = first;
  }
}
