// targets: sm_90
// ptxcheck-args: -W conditional:PTX421 --launch-block 384
// why: protocols of named barriers that end, or that the machine does not know enough about

#include <cstdint>

#define SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory")
#define ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory")

__device__ int group() { return threadIdx.x / 128; }

__global__ void all_of_three(int *out) {
  __shared__ int sums[384];
  sums[threadIdx.x] = out[threadIdx.x];
  SYNC(1, 384);
  out[threadIdx.x] = sums[threadIdx.x ^ 1];
}

__global__ void pairs_of_warps(int *out) {
  SYNC(1 + threadIdx.x / 64, 64);
  out[threadIdx.x] = 1;
}

__global__ void pairs_at_one_barrier(int *out) {
  SYNC(1, 64);
  out[threadIdx.x] = 1;
}

// A producer, and two groups that consume.
__global__ void ring_of_one(const int *in, int *out, int tiles) {
  __shared__ int tile[128];
  if (group() == 0) {
    for (int i = 0; i < tiles; ++i) {
      if (i > 0) SYNC(2, 384);
      tile[threadIdx.x] = in[i * 128 + threadIdx.x];
      ARRIVE(1, 384);
    }
  } else {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      SYNC(1, 384);
      sum += tile[threadIdx.x & 127];
      if (i + 1 < tiles) ARRIVE(2, 384);
    }
    out[threadIdx.x] = sum;
  }
}

// Two slots, each with a barrier that says it is full and one that says it is empty.
__global__ void ring_of_two(const int *in, int *out, int tiles) {
  __shared__ int tile[2][128];
  if (group() == 0) {
    for (int i = 0; i < tiles; ++i) {
      SYNC(3 + i % 2, 256);
      tile[i % 2][threadIdx.x] = in[i * 128 + threadIdx.x];
      ARRIVE(1 + i % 2, 256);
    }
  } else if (group() == 1) {
    int sum = 0;
    ARRIVE(3, 256);
    ARRIVE(4, 256);
    for (int i = 0; i < tiles; ++i) {
      SYNC(1 + i % 2, 256);
      sum += tile[i % 2][threadIdx.x & 127];
      ARRIVE(3 + i % 2, 256);
    }
    out[threadIdx.x] = sum;
  }
}

// The scheduler of FlashAttention: two groups take turns.
__global__ void turns(int *out, int rounds) {
  if (group() > 0) {
    int own = group();
    if (own == 2) ARRIVE(1, 256);
    for (int i = 0; i < rounds; ++i) {
      SYNC(own, 256);
      out[threadIdx.x] += i;
      ARRIVE(3 - own, 256);
    }
    if (own == 1) SYNC(1, 256);
  }
}

// Three groups in a ring.
__global__ void three_turns(int *out, int rounds) {
  int own = 1 + group();
  int next = own == 3 ? 1 : own + 1;
  if (own == 3) ARRIVE(1, 256);
  for (int i = 0; i < rounds; ++i) {
    SYNC(own, 256);
    out[threadIdx.x] += i;
    if (own < 3 || i + 1 < rounds) ARRIVE(next, 256);
  }
}

// The count is what the caller says: it knows how many come.
__global__ void count_of_caller(int *out, int count) {
  if (threadIdx.x < count) {
    SYNC(1, count);
    out[threadIdx.x] = 1;
  }
}

// Two parameters say how many rounds the roles have, and belong together.
__global__ void rounds_of_caller(int *out, int size, int tiles) {
  if (group() == 0) {
    for (int i = 0; i < size; i += 64) SYNC(1, 256);
  } else if (group() == 1) {
    for (int i = 0; i < tiles; ++i) SYNC(1, 256);
  }
  out[threadIdx.x] = 1;
}

// Whether the groups meet, memory says.
__global__ void rounds_of_memory(const int *rounds, int *out) {
  int many = rounds[blockIdx.x];
  if (group() < 2) {
    for (int i = 0; i < many; ++i) SYNC(1, 256);
  }
  out[threadIdx.x] = 1;
}

// One group waits for what another kernel, or the host, writes.
__global__ void flag_of_host(const volatile int *flag, int *out) {
  if (group() == 0) {
    while (*flag == 0) {
    }
    ARRIVE(1, 256);
  } else if (group() == 1) {
    SYNC(1, 256);
  }
  out[threadIdx.x] = 1;
}

// Some threads of each group leave early.
__global__ void some_leave(int *out) {
  if (threadIdx.x % 32 >= 20) return;
  SYNC(1 + group(), 128);
  out[threadIdx.x] = 1;
}

// An early way out for the whole block.
__global__ void none_or_all(int *out, int count) {
  if (blockIdx.x * 384 >= count) return;
  SYNC(1, 384);
  if (group() == 0) ARRIVE(2, 256);
  if (group() == 1) SYNC(2, 256);
  out[threadIdx.x] = 1;
}

// With all threads of the block, and with as many: the same barrier.
__global__ void same_barrier(int *out) {
  if (group() == 0) {
    __syncthreads();
  } else {
    SYNC(0, 384);
  }
  out[threadIdx.x] = 1;
}

// A reduction by named barriers, then one of the block.
__global__ void two_steps(int *out) {
  __shared__ int sums[12];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = out[threadIdx.x];
  SYNC(1 + group(), 128);
  int sum = sums[group() * 4] + sums[group() * 4 + 3];
  __syncthreads();
  if (threadIdx.x < 64) SYNC(4, 64);
  out[threadIdx.x] = sum;
}

// Counts for one barrier, one after the other.
__global__ void two_counts_in_turn(int *out) {
  if (threadIdx.x < 64) SYNC(1, 64);
  __syncthreads();
  if (threadIdx.x < 128) SYNC(1, 128);
  out[threadIdx.x] = 1;
}

// `bar.red` waits, too.
__global__ void votes(int *out) {
  int some = 0;
  if (group() < 2) {
    asm volatile("{\n.reg .pred p, q;\nsetp.ne.s32 p, %1, 0;\nbar.red.or.pred q, 5, 256, p;\nselp.s32 %0, 1, 0, q;\n}"
                 : "=r"(some)
                 : "r"(out[threadIdx.x])
                 : "memory");
  }
  out[threadIdx.x] = some;
}
