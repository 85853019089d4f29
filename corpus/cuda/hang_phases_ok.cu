// targets: sm_90
// ptxcheck-args: -W conditional:PTX421 --launch-block 128
// why: barriers in memory whose phases complete, or of which the machine does not know enough

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
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void bring(void *to, const void *from, uint32_t bytes, Barrier *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
               "l"(from), "r"(bytes), "r"(shared(barrier))
               : "memory");
}

__device__ __forceinline__ bool test(Barrier *barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(shared(barrier)), "r"(parity)
               : "memory");
  return done;
}

#define WAIT(barrier, parity) \
  while (!test(barrier, parity)) {}

__global__ void all_arrive(int *out) {
  __shared__ Barrier ready;
  if (threadIdx.x == 0) init(&ready, 96);
  __syncthreads();
  if (threadIdx.x < 96) {
    arrive(&ready);
  } else {
    WAIT(&ready, 0);
  }
  out[threadIdx.x] = 1;
}

// Two phases, each with its parity.
__global__ void two_phases(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  int sum = 0;
  for (int phase = 0; phase < 2; ++phase) {
    if (threadIdx.x == 0) {
      expect(&full, sizeof tile);
      bring(tile, in + 128 * phase, sizeof tile, &full);
    }
    WAIT(&full, phase);
    sum += tile[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Bytes of two copies; they may come before they are expected.
__global__ void two_copies(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[256];
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    bring(tile, in, sizeof tile / 2, &full);
    expect(&full, sizeof tile);
    bring(tile + 128, in + 128, sizeof tile / 2, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

template <int Depth>
__device__ __forceinline__ void ring(const int *in, int *out, int tiles) {
  __shared__ Barrier full[Depth], empty[Depth];
  __shared__ alignas(128) int tile[Depth][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Depth; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[i % Depth], (i / Depth + 1) & 1);
      expect(&full[i % Depth], sizeof tile[0]);
      bring(tile[i % Depth], in + 32 * i, sizeof tile[0], &full[i % Depth]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % Depth], (i / Depth) & 1);
      sum += tile[i % Depth][threadIdx.x % 32];
      arrive(&empty[i % Depth]);
    }
    out[threadIdx.x] = sum;
  }
}

__global__ void ring_of_1(const int *in, int *out, int tiles) { ring<1>(in, out, tiles); }
__global__ void ring_of_2(const int *in, int *out, int tiles) { ring<2>(in, out, tiles); }
__global__ void ring_of_3(const int *in, int *out, int tiles) { ring<3>(in, out, tiles); }
__global__ void ring_of_4(const int *in, int *out, int tiles) { ring<4>(in, out, tiles); }
__global__ void ring_of_5(const int *in, int *out, int tiles) { ring<5>(in, out, tiles); }

// A slot and a phase that are counted instead of divided for; one lane of each warp gives back.
__global__ void counted_ring(const int *in, int *out, int tiles) {
  __shared__ Barrier full[3], empty[3];
  __shared__ alignas(128) int tile[3][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 3; ++slot) init(&full[slot], 1), init(&empty[slot], 3);
  }
  __syncthreads();
  int slot = 0;
  uint32_t phase = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[slot], phase ^ 1);
      if (threadIdx.x == 0) {
        expect(&full[slot], sizeof tile[0]);
        bring(tile[slot], in + 32 * i, sizeof tile[0], &full[slot]);
      }
      __syncwarp();
      if (++slot == 3) slot = 0, phase ^= 1;
    }
  } else {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[slot], phase);
      sum += tile[slot][threadIdx.x % 32];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(&empty[slot]);
      if (++slot == 3) slot = 0, phase ^= 1;
    }
    out[threadIdx.x] = sum;
  }
}

// The producer waits only from the second round on.
__global__ void ring_filled_first(const int *in, int *out, int tiles) {
  __shared__ Barrier full[4], empty[4];
  __shared__ alignas(128) int tile[4][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      if (i >= 4) {
        WAIT(&empty[i % 4], (i / 4 - 1) & 1);
      }
      expect(&full[i % 4], sizeof tile[0]);
      bring(tile[i % 4], in + 32 * i, sizeof tile[0], &full[i % 4]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % 4], (i / 4) & 1);
      sum += tile[i % 4][threadIdx.x % 32];
      arrive(&empty[i % 4]);
    }
    out[threadIdx.x] = sum;
  }
}

// Tiles of a matrix: a whole number of them, whatever its size is.
__global__ void tiles_of_a_size(const int *in, int *out, int size) {
  __shared__ Barrier full[2], empty[2];
  __shared__ alignas(128) int tile[2][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 2; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  int tiles = (size + 31) / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[i % 2], (i / 2 + 1) & 1);
      expect(&full[i % 2], sizeof tile[0]);
      bring(tile[i % 2], in + 32 * i, sizeof tile[0], &full[i % 2]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % 2], (i / 2) & 1);
      sum += tile[i % 2][threadIdx.x % 32];
      arrive(&empty[i % 2]);
    }
    out[threadIdx.x] = sum;
  }
}

// One by one: the order of two groups by a barrier each, as in a sequence of stages.
__global__ void ordered_sequence(int *out, int rounds) {
  __shared__ Barrier turn[2];
  if (threadIdx.x == 0) init(&turn[0], 64), init(&turn[1], 64);
  __syncthreads();
  int own = threadIdx.x / 64;
  uint32_t phase = own == 0 ? 1 : 0;
  for (int i = 0; i < rounds; ++i) {
    WAIT(&turn[own], phase);
    out[threadIdx.x] += i;
    arrive(&turn[own ^ 1]);
    phase ^= 1;
  }
}

// Threads that leave drop out of later phases.
__global__ void left_with_a_drop(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 128);
  __syncthreads();
  if (threadIdx.x >= 64) {
    asm volatile("{\n.reg .b64 s;\nmbarrier.arrive_drop.shared::cta.b64 s, [%0];\n}" ::"r"(shared(&step)) : "memory");
    return;
  }
  arrive(&step);
  WAIT(&step, 0);
  arrive(&step);
  WAIT(&step, 1);
  out[threadIdx.x] = 1;
}

__global__ void copies_arrive(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 128);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&tile[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared(&full)) : "memory");
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void copies_and_threads_arrive(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 128);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&tile[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared(&full)) : "memory");
  arrive(&full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// A loop that sleeps, longer each time; one with a hint how long the thread may be suspended.
__global__ void sleeps(const int *in, int *out) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, sizeof tile);
    bring(tile, in, sizeof tile, &full);
  }
  uint32_t pause = 8;
  while (!test(&full, 0)) {
    __nanosleep(pause);
    if (pause < 1024) pause *= 2;
  }
  uint32_t done = 0;
  while (!done) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared(&full)), "r"(0), "r"(1000000)
                 : "memory");
  }
  out[threadIdx.x] = tile[threadIdx.x];
}

// Nobody arrives, but the loop gives up: after so many tests, by a clock, or when the host says so.
__global__ void gives_up(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 1);
  __syncthreads();
  for (int tries = 0; tries < 1000000; ++tries) {
    if (test(&step, 0)) break;
  }
  out[threadIdx.x] = 1;
}

__global__ void gives_up_in_time(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 1);
  __syncthreads();
  long long start = clock64();
  while (!test(&step, 0)) {
    if (clock64() - start > 1000000) break;
  }
  out[threadIdx.x] = 1;
}

__global__ void stopped_by_host(const volatile int *stop, int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 1);
  __syncthreads();
  while (!test(&step, 0)) {
    if (*stop) break;
  }
  out[threadIdx.x] = 1;
}

// A thread that arrives once the host says so.
__global__ void host_decides(const volatile int *go, int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    while (*go == 0) {
    }
    arrive(&step);
  }
  WAIT(&step, 0);
  out[threadIdx.x] = 1;
}

// Data decide whether somebody arrives.
__global__ void data_decide(const int *in, int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 33);
  __syncthreads();
  if (threadIdx.x < 32) arrive(&step);
  if (threadIdx.x == 64 && in[0] > 3) arrive(&step);
  WAIT(&step, 0);
  out[threadIdx.x] = 1;
}

// Another block of the cluster arrives.
__global__ void peer_arrives(int *out) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, 1);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared(&step)), "r"(1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
  }
  WAIT(&step, 0);
  out[threadIdx.x] = 1;
}

// How many arrive is the caller's to say.
__global__ void arrivals_of_caller(int *out, int arrivals) {
  __shared__ Barrier step;
  if (threadIdx.x == 0) init(&step, arrivals);
  __syncthreads();
  if (threadIdx.x < arrivals) arrive(&step);
  WAIT(&step, 0);
  out[threadIdx.x] = 1;
}

// So are the bytes, of which a whole number of tiles comes.
__global__ void bytes_of_caller(const char *in, char *out, uint32_t bytes) {
  extern __shared__ __align__(128) char tile[];
  __shared__ Barrier full;
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, bytes);
    for (uint32_t at = 0; at < bytes; at += 128) bring(tile + at, in + at, 128, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// An elected lane waits, the others of its warp wait for it.
__global__ void elected(const int *in, int *out, int rounds) {
  __shared__ Barrier full;
  __shared__ alignas(128) int tile[32];
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    uint32_t leads;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(leads));
    if (threadIdx.x < 32 && leads) {
      expect(&full, sizeof tile);
      bring(tile, in + 32 * i, sizeof tile, &full);
      WAIT(&full, i & 1);
    }
    __syncthreads();
    out[i * 128 + threadIdx.x] = tile[threadIdx.x % 32];
    __syncthreads();
  }
}

// A look before the wait, and other work in between.
__global__ void looks_first(const int *in, int *out, int tiles) {
  __shared__ Barrier full[2], empty[2];
  __shared__ alignas(128) int tile[2][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 2; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      bool is_empty = test(&empty[i % 2], (i / 2 + 1) & 1);
      if (!is_empty) {
        WAIT(&empty[i % 2], (i / 2 + 1) & 1);
      }
      expect(&full[i % 2], sizeof tile[0]);
      bring(tile[i % 2], in + 32 * i, sizeof tile[0], &full[i % 2]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      bool is_full = test(&full[i % 2], (i / 2) & 1);
      sum *= 3;
      if (!is_full) {
        WAIT(&full[i % 2], (i / 2) & 1);
      }
      sum += tile[i % 2][threadIdx.x % 32];
      arrive(&empty[i % 2]);
    }
    out[threadIdx.x] = sum;
  }
}

// A barrier that begins anew.
__global__ void begins_anew(int *out) {
  __shared__ Barrier step;
  for (int i = 0; i < 3; ++i) {
    if (threadIdx.x == 0) init(&step, 128);
    __syncthreads();
    arrive(&step);
    WAIT(&step, 0);
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared(&step)) : "memory");
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

// Work that is asked for one piece at a time, and stored in between.
__global__ void pieces_on_demand(const int *in, int *out, int *next, int pieces) {
  __shared__ Barrier full, empty;
  __shared__ int piece;
  if (threadIdx.x == 0) init(&full, 1), init(&empty, 96);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0;; ++i) {
      WAIT(&empty, (i + 1) & 1);
      piece = atomicAdd(next, 1);
      arrive(&full);
      if (piece >= pieces) break;
    }
  } else if (threadIdx.x >= 32) {
    for (uint32_t i = 0;; ++i) {
      WAIT(&full, i & 1);
      int own = piece;
      arrive(&empty);
      if (own >= pieces) break;
      out[own] = in[own];
    }
  }
}
