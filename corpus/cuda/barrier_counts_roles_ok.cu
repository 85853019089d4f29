// targets: sm_90
// why: roles, rounds and calls with barriers that count threads; numbers and counts from templates, arguments and thread numbers
// ptxcheck-args: --launch-block 128 -W potential:PTX419

#define SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

__device__ __forceinline__ void sync(unsigned number, unsigned count) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(unsigned number, unsigned count) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(count) : "memory");
}
__device__ __noinline__ void sync_group(int group) { sync(1 + group, 64); }
__device__ __noinline__ void sync_with(unsigned number, unsigned count) { sync(number, count); }
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

// The number and the count of a template.
template <int number, int count>
struct Named {
  static __device__ void wait() { SYNC(number, count); }
  static __device__ void come() { ARRIVE(number, count); }
};

template <int producers, int consumers>
__device__ void hand_over(float *p, int n) {
  using Full = Named<1, 32 * (producers + consumers)>;
  using Empty = Named<2, 32 * (producers + consumers)>;
  __shared__ float s[128];
  int warp = threadIdx.x / 32;
  if (warp < producers) {
    for (int i = 0; i < n; i++) {
      if (i > 0) Empty::wait();
      s[threadIdx.x] = p[threadIdx.x + i];
      Full::come();
    }
  } else if (warp < producers + consumers) {
    for (int i = 0; i < n; i++) {
      Full::wait();
      p[threadIdx.x + i] = s[threadIdx.x % 32];
      if (i + 1 < n) Empty::come();
    }
  }
}
__global__ void of_template_1_3(float *p, int n) { hand_over<1, 3>(p, n); }
__global__ void of_template_2_2(float *p, int n) { hand_over<2, 2>(p, n); }
__global__ void of_template_1_2(float *p, int n) { hand_over<1, 2>(p, n); }

// A number for each stage of a ring.
__global__ void ring_of_stages(float *p, int n) {
  __shared__ float s[2][64];
  int warp = threadIdx.x / 32;
  if (warp < 2) {
    for (int i = 0; i < n; i++) {
      if (i >= 2) sync(3 + i % 2, 128);
      s[i % 2][threadIdx.x] = p[threadIdx.x + i];
      arrive(1 + i % 2, 128);
    }
  } else {
    for (int i = 0; i < n; i++) {
      sync(1 + i % 2, 128);
      p[threadIdx.x + i] = s[i % 2][threadIdx.x - 64];
      if (i + 2 < n) arrive(3 + i % 2, 128);
    }
  }
}

// The same with four rounds, which compilers unroll.
__global__ void ring_unrolled(float *p) {
  __shared__ float s[2][64];
  if (threadIdx.x < 64) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (i >= 2) sync(3 + i % 2, 128);
      s[i % 2][threadIdx.x] = p[threadIdx.x + i];
      arrive(1 + i % 2, 128);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sync(1 + i % 2, 128);
      p[threadIdx.x + i] = s[i % 2][threadIdx.x - 64];
      if (i < 2) arrive(3 + i % 2, 128);
    }
  }
}

// Functions that are called with a number, or with the group.
__global__ void called_by_group(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  sync_group(threadIdx.x / 64);
  p[threadIdx.x] = s[threadIdx.x ^ 32];
}

__global__ void called_in_arms(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 32)
    sync_with(1, 32);
  else
    sync_with(2, 96);
  p[threadIdx.x] = s[threadIdx.x ^ 1];
  sync_with(3, 128);
}

// Two arms with a barrier of the block each.
__global__ void block_in_both_arms(float *p) {
  __shared__ float s[128];
  if (threadIdx.x < 64) {
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x + 64];
  } else {
    s[threadIdx.x] = p[threadIdx.x] + 1;
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x - 64];
  }
}

// The barrier of the block by its number, with and without a count.
__global__ void block_by_number(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64)
    SYNC(0, 128);
  else
    __syncthreads();
  p[threadIdx.x] = s[127 - threadIdx.x];
}

// A warp that ends before a barrier of the block.
__global__ void one_warp_ends(float *p, const int *in) {
  __shared__ float s[128];
  if (threadIdx.x >= 96) {
    ARRIVE(1, 128);
    return;
  }
  s[threadIdx.x] = p[threadIdx.x];
  SYNC(1, 128);
  p[threadIdx.x] = s[95 - threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  SYNC(2, 96);
  p[threadIdx.x] += s[95 - threadIdx.x];
}

// Warps that have no work end, and the others wait for the block.
__global__ void idle_warps_end(float *p, const int *work) {
  __shared__ float s[128];
  if (work[threadIdx.x / 32] == 0) return;
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}

// The leader of a producer is elected.
__global__ void elected_producer(float *p, int n) {
  __shared__ float s;
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == 0) {
    for (int i = 0; i < n; i++) {
      SYNC(2, 128);
      if (elected()) s = p[i];
      __syncwarp();
      ARRIVE(1, 128);
    }
  } else {
    ARRIVE(2, 128);
    for (int i = 0; i < n; i++) {
      SYNC(1, 128);
      p[threadIdx.x + 1024 * i] = s;
      if (i + 1 < n) ARRIVE(2, 128);
    }
  }
}

// A reduction as part of the barrier.
__global__ void counted_votes(int *p) {
  int group = threadIdx.x / 64, any;
  asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.cta.red.or.pred q, %2, 64, p;\n\tselp.s32 %0, 1, 0, q;\n\t}"
               : "=r"(any)
               : "r"(p[threadIdx.x]), "r"(group + 1)
               : "memory");
  p[threadIdx.x] = any;
}

// Lanes come to a barrier at two places, and nothing says that they come together.
__global__ void lanes_apart(float *p) {
  __shared__ float s[128];
  if (threadIdx.x % 2 == 0) {
    s[threadIdx.x] = p[threadIdx.x];
    asm volatile("barrier.cta.sync 1, 128;" ::: "memory");
  } else {
    s[threadIdx.x] = p[threadIdx.x] * 2;
    asm volatile("barrier.cta.sync 1, 128;" ::: "memory");
  }
  p[threadIdx.x] = s[127 - threadIdx.x];
}
