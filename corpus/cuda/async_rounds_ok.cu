// targets: sm_90 sm_120
// ptxcheck-args: -W conditional:async -A PTX421
// why: pipelines of several rounds, whose waits are right in all of them

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define TRACK(bar) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(SHARED(bar)) : "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define NAMED_SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define NAMED_ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

__global__ void __launch_bounds__(128) parity_of_rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      EXPECT(&full, 512);
      BULK_LOAD(tile, in + k * 128, 512, &full);
    }
    WAIT(&full, k & 1);
    out[k * 128 + threadIdx.x] = tile[127 - threadIdx.x];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(128) own_slots(int *out, const int *in, int n) {
  __shared__ alignas(128) int slots[4][128];
  __shared__ alignas(8) unsigned long long full[4];
  if (threadIdx.x < 4) INIT(&full[threadIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < 4; ++k) {
      EXPECT(&full[k], 512);
      BULK_LOAD(slots[k], in + k * 128, 512, &full[k]);
    }
  }
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    WAIT(&full[k & 3], (k >> 2) & 1);
    out[k * 128 + threadIdx.x] = slots[k & 3][127 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0 && k + 4 < n) {
      EXPECT(&full[k & 3], 512);
      BULK_LOAD(slots[k & 3], in + (k + 4) * 128, 512, &full[k & 3]);
    }
  }
}

__global__ void __launch_bounds__(128) two_buffers(int *out, const int *in, int n) {
  __shared__ alignas(128) int tiles[2][128];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) BULK_WAIT_READ(1);
    __syncthreads();
    tiles[i & 1][threadIdx.x] = in[i * 128 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 128, tiles[i & 1], 512);
      BULK_COMMIT();
    }
  }
}

__global__ void __launch_bounds__(128) ring_of_groups(int *out, const int *in, int n) {
  __shared__ int stages[3][128];
  for (int i = 0; i < 2; ++i) {
    COPY(&stages[i][threadIdx.x], in + i * 128 + threadIdx.x);
    COMMIT();
  }
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    WAIT_GROUP(1);
    __syncthreads();
    sum += stages[i % 3][127 - threadIdx.x];
    if (i + 2 < n) COPY(&stages[(i + 2) % 3][threadIdx.x], in + (i + 2) * 128 + threadIdx.x);
    COMMIT();
  }
  out[threadIdx.x] = sum;
}

// A producer and consumers, with full and empty slots.
__global__ void __launch_bounds__(160) producer(int *out, const int *in, int n) {
  __shared__ alignas(128) int slots[3][128];
  __shared__ alignas(8) unsigned long long full[3], empty[3];
  if (threadIdx.x < 3) {
    INIT(&full[threadIdx.x], 1);
    INIT(&empty[threadIdx.x], 128);
  }
  __syncthreads();
  int slot = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int k = 0; k < n; ++k) {
        WAIT(&empty[slot], phase ^ 1);
        EXPECT(&full[slot], 512);
        BULK_LOAD(slots[slot], in + k * 128, 512, &full[slot]);
        if (++slot == 3) slot = 0, phase ^= 1;
      }
    }
  } else {
    int sum = 0;
    for (int k = 0; k < n; ++k) {
      WAIT(&full[slot], phase);
      sum += slots[slot][127 - threadIdx.x];
      ARRIVE(&empty[slot]);
      if (++slot == 3) slot = 0, phase ^= 1;
    }
    out[threadIdx.x] = sum;
  }
}

// The copies of a warp, tracked by an mbarrier, for the others.
__global__ void __launch_bounds__(64) tracked(int *out, const int *in, int n) {
  __shared__ int slots[2][32];
  __shared__ alignas(8) unsigned long long full[2], empty[2];
  if (threadIdx.x < 2) {
    INIT(&full[threadIdx.x], 32);
    INIT(&empty[threadIdx.x], 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 0; k < n; ++k) {
      WAIT(&empty[k & 1], (k >> 1 & 1) ^ 1);
      COPY(&slots[k & 1][threadIdx.x], in + k * 32 + threadIdx.x);
      TRACK(&full[k & 1]);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < n; ++k) {
      WAIT(&full[k & 1], k >> 1 & 1);
      sum += slots[k & 1][63 - threadIdx.x];
      ARRIVE(&empty[k & 1]);
    }
    out[threadIdx.x] = sum;
  }
}

// Roles that hand over by named barriers.
__global__ void __launch_bounds__(160) by_named_barriers(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) {
    for (int i = 0; i < n; ++i) {
      NAMED_SYNC(2, 160);
      tile[threadIdx.x] = in[i * 128 + threadIdx.x];
      FENCE();
      NAMED_ARRIVE(1, 160);
    }
  } else {
    NAMED_ARRIVE(2, 160);
    for (int i = 0; i < n; ++i) {
      NAMED_SYNC(1, 160);
      if (threadIdx.x == 128) {
        BULK_STORE(out + i * 128, tile, 512);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
      }
      __syncwarp();
      if (i + 1 < n) NAMED_ARRIVE(2, 160);
    }
  }
}

__global__ void __launch_bounds__(128) by_an_elected_lane(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[128];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 32 && elected()) BULK_WAIT_READ(0);
    __syncthreads();
    tile[threadIdx.x] = in[i * 128 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x < 32 && elected()) {
      BULK_STORE(out + i * 128, tile, 512);
      BULK_COMMIT();
    }
  }
}

// A flag in shared memory says that the copy is complete.
__global__ void __launch_bounds__(64) by_a_flag(int *out, const int *in) {
  __shared__ alignas(128) int tile[64];
  __shared__ volatile int is_there;
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    is_there = 0;
    INIT(&full, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 256);
    BULK_LOAD(tile, in, 256, &full);
    WAIT(&full, 0);
    __threadfence_block();
    is_there = 1;
  }
  while (is_there == 0) {}
  __threadfence_block();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
