// targets: sm_90
// why: a number of a barrier is used again, or with another count, after all who used it have passed
// ptxcheck-args: --launch-block 128 -W potential:PTX419

#define SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE_AT(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

// Two counts, and all of the block come in between.
__global__ void another_count_later(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) SYNC(1, 64);
  SYNC(2, 128);
  s[threadIdx.x] += s[threadIdx.x ^ 64];
  SYNC(1, 128);
  p[threadIdx.x] = s[127 - threadIdx.x];
}

// Groups use one number one after the other: the second one has waited at an mbarrier.
__global__ void after_an_mbarrier(float *p) {
  __shared__ float s[128];
  __shared__ alignas(8) unsigned long long passed;
  if (threadIdx.x == 0) INIT(&passed, 64);
  __syncthreads();
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) {
    SYNC(1, 64);
    p[threadIdx.x] = s[63 - threadIdx.x];
    ARRIVE_AT(&passed);
  } else {
    WAIT(&passed, 0);
    SYNC(1, 64);
    p[threadIdx.x] = s[191 - threadIdx.x];
  }
}

// The same with a flag.
__global__ void after_a_flag(float *p) {
  __shared__ float s[128];
  __shared__ volatile int passed;
  if (threadIdx.x == 0) passed = 0;
  __syncthreads();
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) {
    SYNC(1, 64);
    p[threadIdx.x] = s[63 - threadIdx.x];
    SYNC(2, 64);
    __threadfence_block();
    if (threadIdx.x == 0) passed = 1;
  } else {
    while (passed == 0) {}
    __threadfence_block();
    SYNC(1, 64);
    p[threadIdx.x] = s[191 - threadIdx.x];
  }
}

// The same with another barrier.
__global__ void after_a_chain(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) {
    SYNC(1, 64);
    p[threadIdx.x] = s[63 - threadIdx.x];
    ARRIVE(2, 128);
  } else {
    SYNC(2, 128);
    SYNC(1, 64);
    p[threadIdx.x] = s[191 - threadIdx.x];
  }
}

// Each of two groups in its own rounds, then both.
__global__ void groups_in_rounds(float *p, int n) {
  __shared__ float s[128];
  if (threadIdx.x < 64) {
    for (int i = 0; i < n; i++) {
      s[threadIdx.x] = p[threadIdx.x + i];
      SYNC(1, 64);
      p[threadIdx.x + i] = s[63 - threadIdx.x];
      SYNC(1, 64);
    }
  } else {
    for (int i = 0; i < 2 * n; i++) {
      s[threadIdx.x] = p[threadIdx.x + i];
      SYNC(2, 64);
      p[threadIdx.x + i] = s[191 - threadIdx.x];
      SYNC(2, 64);
    }
  }
  SYNC(3, 128);
  p[threadIdx.x] += s[127 - threadIdx.x];
}

// Three roles: load, change, store.
__global__ void three_roles(float *p, int n) {
  __shared__ float in[32], out[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    for (int i = 0; i < n; i++) {
      if (i > 0) SYNC(2, 64);
      in[lane] = p[lane + 32 * i];
      ARRIVE(1, 64);
    }
  } else if (warp == 1) {
    for (int i = 0; i < n; i++) {
      SYNC(1, 64);
      float value = in[lane];
      if (i + 1 < n) ARRIVE(2, 64);
      if (i > 0) SYNC(4, 64);
      out[lane] = value * 2;
      ARRIVE(3, 64);
    }
  } else if (warp == 2) {
    for (int i = 0; i < n; i++) {
      SYNC(3, 64);
      p[lane + 32 * i] = out[lane];
      if (i + 1 < n) ARRIVE(4, 64);
    }
  }
}

// A failed check ends the kernel.
__global__ void with_a_check(float *p, int n) {
  __shared__ float s[128];
  if (threadIdx.x < 64) {
    if (n < 0) __trap();
    s[threadIdx.x] = p[threadIdx.x];
    ARRIVE(1, 128);
  } else {
    SYNC(1, 128);
    if (s[threadIdx.x - 64] < 0) __trap();
    p[threadIdx.x] = s[threadIdx.x - 64];
  }
}

// A parameter says whether there are barriers at all.
__global__ void by_parameter(float *p, bool exchange) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (exchange) {
    if (threadIdx.x < 96)
      SYNC(1, 96);
    else
      SYNC(2, 32);
    p[threadIdx.x] = s[threadIdx.x ^ 1];
  }
  SYNC(1, 128);
  p[threadIdx.x] += s[127 - threadIdx.x];
}

// The barrier of the block lets the next round use the number with another count.
__global__ void counts_by_turns(float *p, int n) {
  __shared__ float s[128];
  for (int i = 0; i < n; i++) {
    s[threadIdx.x] = p[threadIdx.x + i];
    if (threadIdx.x < 64) SYNC(1, 64);
    __syncthreads();
    if (threadIdx.x >= 32) SYNC(1, 96);
    p[threadIdx.x + i] = s[127 - threadIdx.x];
    __syncthreads();
  }
}

// The count is what a warp finds in a table that says how many take part.
__global__ void count_of_a_table(float *p, const int *members) {
  __shared__ float s[128];
  int group = threadIdx.x / 64;
  s[threadIdx.x] = p[threadIdx.x];
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(members[group]) : "memory");
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}

// The last of the warps, by a counter, goes on alone.
__global__ void last_warp_goes_on(float *p, int *done) {
  __shared__ float s[128];
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  SYNC(1, 128);
  s[threadIdx.x] = p[threadIdx.x];
  __syncwarp();
  int before = 0;
  if (threadIdx.x % 32 == 0) {
    __threadfence_block();
    before = atomicAdd(&count, 1);
  }
  before = __shfl_sync(0xffffffff, before, 0);
  if (before != 3) return;
  __threadfence_block();
  float sum = 0;
  for (int i = 0; i < 4; i++) sum += s[32 * i + threadIdx.x % 32];
  SYNC(2, 32);
  p[threadIdx.x % 32] = sum;
}
