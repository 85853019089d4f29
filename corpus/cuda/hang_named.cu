// targets: sm_90
// ptxcheck-args: -W conditional:PTX421 --launch-block 384
// why: named barriers with a count that threads of three groups of four warps never complete

#include <cstdint>

#define SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory")
#define ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory")

__device__ int group() { return threadIdx.x / 128; }

// Two groups of three come to a barrier of all.
__global__ void two_of_three(int *out) {
  __shared__ int sums[384];
  sums[threadIdx.x] = out[threadIdx.x];
  if (group() < 2) {
    SYNC(1, 384); //~ PTX421? PTX419
    out[threadIdx.x] = sums[threadIdx.x ^ 1];
  }
}

// Three warps at a barrier of two: one is left.
__global__ void one_is_left(int *out) {
  if (threadIdx.x < 96) {
    SYNC(1, 64); //~ PTX421? PTX419
    out[threadIdx.x] = 1;
  }
}

// Two roles come to two barriers in crossed order.
__global__ void crossed(int *out) {
  if (group() == 0) {
    SYNC(1, 256); //~ PTX421? PTX419
    SYNC(2, 256);
  } else if (group() == 1) {
    SYNC(2, 256);
    SYNC(1, 256);
  }
  out[threadIdx.x] = 1;
}

// Two groups arrive, which completes the barrier; the third waits for the next time.
__global__ void nobody_waits(int *out) {
  if (group() < 2) {
    ARRIVE(1, 256);
    ARRIVE(3, 384);
  } else {
    SYNC(3, 384);
    SYNC(1, 256); //~ PTX421? PTX419
  }
  out[threadIdx.x] = 1;
}

// All threads of the block are asked for in the arm of some, while the others wait for these.
__global__ void block_barrier_in_role(int *out) {
  if (group() == 0) {
    __syncthreads();
    SYNC(1, 384);
  } else {
    SYNC(1, 384); //~ PTX421? PTX419
  }
  out[threadIdx.x] = 1;
}

// Two reductions use one barrier, with the count of each.
__global__ void two_counts(int *out) {
  if (threadIdx.x < 96) {
    if (threadIdx.x < 64) SYNC(1, 96);
  } else if (threadIdx.x < 160) {
    SYNC(1, 128); //~ PTX421? PTX419
  }
  out[threadIdx.x] = 1;
}

// The producer hands over one tile less than the consumers wait for.
__global__ void one_round_less(const int *in, int *out, int tiles) {
  __shared__ int tile[128];
  if (group() == 0) {
    for (int i = 1; i < tiles; ++i) {
      SYNC(2, 256);
      tile[threadIdx.x] = in[i * 128 + threadIdx.x];
      ARRIVE(1, 256);
    }
  } else if (group() == 1) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      ARRIVE(2, 256);
      SYNC(1, 256); //~ PTX421?
      sum += tile[threadIdx.x - 128];
    }
    out[threadIdx.x] = sum;
  }
}

// Only an even number of rounds comes out right.
__global__ void one_of_a_pair(int *out, int rounds) {
  if (group() == 0) {
    for (int i = 0; i < rounds; i += 2) {
      SYNC(1, 256);
      SYNC(1, 256); //~ PTX421?
    }
  } else if (group() == 1) {
    for (int i = 0; i < rounds; ++i) SYNC(1, 256);
  }
  out[threadIdx.x] = 1;
}

// The scheduler of two groups of consumers, of which nobody lets the first one go.
__global__ void nobody_begins(int *out, int rounds) {
  if (group() > 0) {
    int own = group();
    for (int i = 0; i < rounds; ++i) {
      SYNC(own, 256); //~ PTX421?
      out[threadIdx.x] += i;
      ARRIVE(3 - own, 256);
    }
  }
}
