// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX714
// why: before a lane arrives at an mbarrier, the lanes meet in many ways; or what they store is read after another wait

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define ARRIVE_FOR(bar, count) \
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}
__device__ __noinline__ void meet() { __syncwarp(); }
__device__ __noinline__ void store(int *tile, int value) { tile[threadIdx.x] = value; }

// The tile and its mbarrier, and what the other role does.
#define BEGIN(count)                              \
  __shared__ int tile[64];                        \
  __shared__ alignas(8) unsigned long long full;  \
  if (threadIdx.x == 0) INIT(&full, count);       \
  __syncthreads()
#define READ_BY_OTHERS(from)             \
  else if (threadIdx.x / 32 == 2) {      \
    WAIT(&full, 0);                      \
    out[threadIdx.x] = tile[from];       \
  }

__global__ void met_in_a_call(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    meet();
    if (threadIdx.x == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

__global__ void met_at_a_barrier_of_the_warp(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.sync 1, 32;" ::: "memory");
    if (threadIdx.x == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

__global__ void two_warps_met(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 64) {
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    if (threadIdx.x == 0) ARRIVE(&full);
  } READ_BY_OTHERS(33)
}

__global__ void met_at_the_barrier_of_the_block(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

// Lanes exchange values: an exchange waits for them, and what they have stored is done on all GPUs that there are.
__global__ void after_a_shuffle(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    int value = in[threadIdx.x];
    tile[threadIdx.x] = value;
    value = __shfl_xor_sync(0xffffffff, value, 1);
    __syncwarp();
    if (threadIdx.x == 0) ARRIVE(&full);
    out[threadIdx.x + 256] = value;
  } READ_BY_OTHERS(1)
}

__global__ void shuffle_alone(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    int value = in[threadIdx.x];
    tile[threadIdx.x] = value;
    value = __shfl_xor_sync(0xffffffff, value, 1);
    if (threadIdx.x == 0) ARRIVE(&full);
    out[threadIdx.x + 256] = value;
  } READ_BY_OTHERS(1)
}

__global__ void after_a_vote(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    int value = in[threadIdx.x];
    tile[threadIdx.x] = value;
    if (__all_sync(0xffffffff, value > 0)) out[threadIdx.x + 256] = 1;
    if (threadIdx.x == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

__global__ void after_a_reduction(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    int value = in[threadIdx.x];
    tile[threadIdx.x] = value;
    int sum = __reduce_add_sync(0xffffffff, value);
    if (threadIdx.x == 0) {
      out[256] = sum;
      ARRIVE(&full);
    }
  } READ_BY_OTHERS(1)
}

// A lane arrives for a half of the warp, which has met.
__global__ void halves(int *out, const int *in) {
  BEGIN(2);
  if (threadIdx.x < 32) {
    unsigned half = 0xffffu << (threadIdx.x & 16);
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp(half);
    if (threadIdx.x % 16 == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

// All arrive, at once or for several.
__global__ void all_of_two_warps(int *out, const int *in) {
  BEGIN(64);
  if (threadIdx.x < 64) {
    tile[threadIdx.x] = in[threadIdx.x];
    ARRIVE(&full);
  } READ_BY_OTHERS(33)
}

__global__ void one_for_all(int *out, const int *in) {
  BEGIN(32);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (elected()) ARRIVE_FOR(&full, 32);
  } READ_BY_OTHERS(1)
}

// The leaders of warps, by a template.
template <int warps>
__device__ void by_leaders(int *out, const int *in) {
  BEGIN(warps);
  if (threadIdx.x < 32 * warps) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if ((threadIdx.x & 31) == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}
__global__ void by_one_leader(int *out, const int *in) { by_leaders<1>(out, in); }
__global__ void by_two_leaders(int *out, const int *in) { by_leaders<2>(out, in); }

// The store is in a function.
__global__ void stored_in_a_call(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    store(tile, in[threadIdx.x]);
    __syncwarp();
    if (threadIdx.x == 0) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

// The leader has stored all that is read.
__global__ void whole_tile_by_the_leader(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    if (elected()) {
      for (int i = 0; i < 32; i++) tile[i] = in[i];
      ARRIVE(&full);
    }
  } READ_BY_OTHERS(1)
}

__global__ void own_part_only(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 5) ARRIVE(&full);
  } READ_BY_OTHERS(5)
}

// The reader is one of the lanes, and meets the others.
__global__ void read_by_the_same_warp(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) ARRIVE(&full);
    WAIT(&full, 0);
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
  }
}

// A count that needs another arrival, which comes after the lanes have met.
__global__ void second_arrival(int *out, const int *in) {
  BEGIN(2);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) ARRIVE(&full);
    __syncwarp();
    if (threadIdx.x == 1) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

// The first half of a warp stores, and the other half says so.
__global__ void half_for_half(int *out, const int *in) {
  BEGIN(1);
  if (threadIdx.x < 32) {
    if (threadIdx.x < 16) tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 16) ARRIVE(&full);
  } READ_BY_OTHERS(1)
}

// Counted by an atomic, which the lane that comes last reads.
__global__ void last_lane_arrives(int *out, const int *in) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    __threadfence_block();
    if (atomicAdd(&count, 1) == 31) {
      __threadfence_block();
      ARRIVE(&full);
    }
  } READ_BY_OTHERS(1)
}

// The tile is read after the second phase, before which the lanes have met.
__global__ void second_phase(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long seen;
  if (threadIdx.x == 0) INIT(&seen, 32);
  BEGIN(1);
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) ARRIVE(&full);
    __syncwarp();
    WAIT(&seen, 0);
    if (threadIdx.x == 0) ARRIVE(&full);
  } else if (threadIdx.x / 32 == 2) {
    WAIT(&full, 0);
    ARRIVE(&seen);
    WAIT(&full, 1);
    out[threadIdx.x] = tile[1];
  }
}

// Rounds of a ring.
__global__ void in_rounds(int *out, const int *in, int n) {
  __shared__ int tile[64];
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 1);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < n; i++) {
      if (i > 0) WAIT(&empty, (i - 1) & 1);
      tile[threadIdx.x] = in[threadIdx.x + 32 * i];
      __syncwarp();
      if (elected()) ARRIVE(&full);
    }
  } else if (threadIdx.x < 64) {
    for (int i = 0; i < n; i++) {
      WAIT(&full, i & 1);
      out[threadIdx.x + 32 * i] = tile[63 - threadIdx.x];
      __syncwarp();
      if (elected()) ARRIVE(&empty);
    }
  }
}
