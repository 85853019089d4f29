// targets: sm_90
// ptxcheck-args: -W conditional:PTX421 --launch-block 128
// why: barriers in memory whose phases never complete

#include <cstdint>

using Barrier = uint64_t;

__device__ __forceinline__ uint32_t shared(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void init(Barrier *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(Barrier *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ __forceinline__ void expect(Barrier *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes) : "memory"); //~ PTX706
}

__device__ __forceinline__ void bring(void *to, const void *from, uint32_t bytes, Barrier *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
               "l"(from), "r"(bytes), "r"(shared(barrier))
               : "memory");
}

#define WAIT(barrier, parity)                                                                                                \
  for (uint32_t is_done = 0; !is_done;)                                                                                          \
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"           \
               : "=r"(is_done)                                                                                               \
               : "r"(shared(barrier)), "r"(parity)                                                                           \
               : "memory")

// Three warps arrive, and four are expected.
__global__ void a_warp_is_missing(int *out) {
  __shared__ Barrier ready;
  if (threadIdx.x == 0) init(&ready, 128);
  __syncthreads();
  if (threadIdx.x < 96) {
    arrive(&ready);
  } else {
    WAIT(&ready, 0); //~ PTX421?
  }
  out[threadIdx.x] = 1;
}

// The second phase has the other parity, and nobody arrives for it.
__global__ void wrong_parity(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, sizeof tile);
    bring(tile, in, sizeof tile, &full);
  }
  WAIT(&full, 0);
  int sum = tile[threadIdx.x];
  WAIT(&full, 1); //~ PTX421?
  out[threadIdx.x] = sum + tile[threadIdx.x ^ 1];
}

// More bytes are expected than one copy brings.
__global__ void bytes_are_missing(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[256];
  if (threadIdx.x == 0) {
    init(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, sizeof tile);
    bring(tile, in, sizeof tile / 2, &full);
  }
  WAIT(&full, 0); //~ PTX421?
  out[threadIdx.x] = tile[threadIdx.x];
}

// The slots of a ring are never given back.
__global__ void never_released(const int *in, int *out, int tiles) {
  __shared__ Barrier full[4], empty[4];
  __shared__ alignas(128) int tile[4][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[i % 4], (i / 4 + 1) & 1); //~ PTX421?
      expect(&full[i % 4], sizeof tile[0]);
      bring(tile[i % 4], in + 32 * i, sizeof tile[0], &full[i % 4]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % 4], (i / 4) & 1);
      sum += tile[i % 4][threadIdx.x % 32];
    }
    out[threadIdx.x] = sum;
  }
}

// One role has three slots, the other one four.
__global__ void other_depth(const int *in, int *out, int tiles) {
  __shared__ Barrier full[4], empty[4];
  __shared__ alignas(128) int tile[4][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) init(&full[slot], 1), init(&empty[slot], 3);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[i % 3], (i / 3 + 1) & 1);
      expect(&full[i % 3], sizeof tile[0]);
      bring(tile[i % 3], in + 32 * i, sizeof tile[0], &full[i % 3]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % 4], (i / 4) & 1); //~ PTX421?
      sum += tile[i % 4][threadIdx.x % 32];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(&empty[i % 4]);
    }
    out[threadIdx.x] = sum;
  }
}

// One lane of each of three warps arrives, and the barrier counts four.
__global__ void a_lane_of_each_warp(int *out) {
  __shared__ Barrier done;
  if (threadIdx.x == 0) init(&done, 4);
  __syncthreads();
  if (threadIdx.x < 96) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(&done);
  } else {
    WAIT(&done, 0); //~ PTX421?
  }
  out[threadIdx.x] = 1;
}

// Two roles wait for each other before they arrive.
__global__ void each_waits_first(int *out) {
  __shared__ Barrier one, other;
  if (threadIdx.x == 0) init(&one, 64), init(&other, 64);
  __syncthreads();
  if (threadIdx.x < 64) {
    WAIT(&one, 0); //~ PTX421?
    arrive(&other);
  } else {
    WAIT(&other, 0);
    arrive(&one);
  }
  out[threadIdx.x] = 1;
}

// Threads that have left are still expected in the second phase.
__global__ void left_without_a_drop(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 128);
  __syncthreads();
  arrive(&step);
  if (threadIdx.x >= 64) return;
  WAIT(&step, 0);
  arrive(&step);
  WAIT(&step, 1); //~ PTX421?
  out[threadIdx.x] = 1;
}

// `cp.async` arrives for its thread, and adds the arrival that it makes.
__global__ void arrival_that_is_added(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 128);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&tile[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared(&full)) : "memory");
  WAIT(&full, 0); //~ PTX421?
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The state of an arrival, of a phase that lacks one.
__global__ void state_of_a_phase(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 129);
  __syncthreads();
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared(&step)) : "memory");
  uint32_t done = 0;
  while (!done) {
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" //~ PTX421?
                 : "=r"(done)
                 : "r"(shared(&step)), "l"(state)
                 : "memory");
  }
  out[threadIdx.x] = 1;
}
