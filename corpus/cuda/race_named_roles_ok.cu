// why: right ways to use barriers with a number and a count of threads: groups, roles, hand-overs in both directions, and rounds
// ptxcheck-args: -W conditional:PTX416

__device__ void sync(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
__device__ void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }

// Two buffers, each with a barrier for "full" and one for "free".
__global__ void __launch_bounds__(64) two_buffers(float *out, const float *in, int rounds) {
  __shared__ float buffer[2][32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < rounds; k++) {
      int at = k & 1;
      sync(3 + at, 64);
      buffer[at][lane] = in[k * 32 + lane];
      arrive(1 + at, 64);
    }
  } else {
    float sum = 0;
    arrive(3, 64);
    arrive(4, 64);
    for (int k = 0; k < rounds; k++) {
      int at = k & 1;
      sync(1 + at, 64);
      sum += buffer[at][31 - lane];
      arrive(3 + at, 64);
    }
    out[lane] = sum;
  }
}

// The first pair of warps hands over to the second one, and this one to the third.
__global__ void __launch_bounds__(192) chain(int *out, const int *in) {
  __shared__ int first[64], second[64];
  int t = threadIdx.x % 64, stage = threadIdx.x / 64;
  if (stage == 0) {
    first[t] = in[t];
    arrive(1, 128);
  } else if (stage == 1) {
    sync(1, 128);
    second[t] = first[63 - t] + 1;
    arrive(2, 128);
  } else {
    sync(2, 128);
    out[t] = second[t ^ 32] + first[t];
  }
}

// Groups of 128, in rounds.
__global__ void __launch_bounds__(256) groups_in_rounds(int *out, const int *in, int rounds) {
  __shared__ int s[256];
  int t = threadIdx.x, group = t / 128;
  int v = 0;
  for (int k = 0; k < rounds; k++) {
    s[t] = in[k * 256 + t] + v;
    sync(1 + group, 128);
    v += s[t ^ 127];
    sync(1 + group, 128);
  }
  out[t] = v;
}

// Groups first, then all.
__global__ void __launch_bounds__(128) groups_then_all(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t];
  sync(1 + group, 64);
  int v = s[t ^ 63];
  __syncthreads();
  s[t] = v;
  __syncthreads();
  out[t] = s[127 - t];
}

// All first, then groups that read what all have written.
__global__ void __launch_bounds__(128) all_then_groups(int *out, const int *in) {
  __shared__ int s[128], w[128];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t];
  __syncthreads();
  w[t] = s[127 - t];
  sync(1 + group, 64);
  out[t] = w[t ^ 32];
}

// One warp fills, the three others read in rounds; the barrier counts all of them.
__global__ void __launch_bounds__(128) one_fills(float *out, const float *in, int rounds) {
  __shared__ float buffer[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (warp == 0) buffer[lane] = in[k * 32 + lane];
    sync(1, 128);
    if (warp != 0) sum += buffer[31 - lane];
    sync(2, 128);
  }
  out[threadIdx.x] = sum;
}

// Each warp has a region of its own, and a barrier that counts it alone.
__global__ void __launch_bounds__(128) warp_regions(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x, warp = t / 32;
  s[t] = in[t];
  sync(1 + warp, 32);
  out[t] = s[t ^ 31];
}

// The last warp is not needed and reads nothing.
__global__ void __launch_bounds__(128) three_of_four(int *out, const int *in) {
  __shared__ int s[96];
  int t = threadIdx.x;
  if (t < 96) {
    s[t] = in[t];
    sync(1, 96);
    out[t] = s[95 - t];
  }
}

// Readers and writers change places after a barrier of both.
__global__ void __launch_bounds__(128) change_places(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x, half = t / 64, i = t % 64;
  if (half == 0) {
    s[i] = in[i];
    sync(1, 128);
    sync(2, 128);
    out[i] = s[63 - i];
  } else {
    sync(1, 128);
    int v = s[63 - i];
    sync(3, 64);
    s[i] = in[64 + i] + v;
    sync(2, 128);
  }
}

// One number, used twice by the same threads.
__global__ void __launch_bounds__(64) one_number_twice(int *out, const int *in) {
  __shared__ int a[64], b[64];
  int t = threadIdx.x;
  a[t] = in[t];
  sync(1, 64);
  b[t] = a[63 - t];
  sync(1, 64);
  out[t] = b[t ^ 32];
}

// The count is that of the block, which the kernel reads.
__global__ void count_of_the_block(int *out, const int *in) {
  extern __shared__ int s[];
  s[threadIdx.x] = in[threadIdx.x];
  sync(1, blockDim.x);
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

// The number and the count are parameters: nothing is known of them.
__global__ void __launch_bounds__(128) unknown_barrier(int *out, const int *in, int barrier, int threads) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  sync(barrier, threads);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// Two halves at places that never meet, without a barrier between the halves.
__global__ void __launch_bounds__(256) halves(int *out, const int *in) {
  __shared__ int left[128], right[128];
  int t = threadIdx.x % 128;
  if (threadIdx.x < 128) {
    left[t] = in[t];
    sync(1, 128);
    out[t] = left[127 - t];
  } else {
    right[t] = in[128 + t];
    sync(2, 128);
    out[128 + t] = right[127 - t];
  }
}

// All threads write the same word.
__global__ void __launch_bounds__(128) same_word(int *out, const int *in) {
  __shared__ int ready;
  int group = threadIdx.x / 64;
  ready = 1;
  sync(1 + group, 64);
  out[threadIdx.x] = ready + in[threadIdx.x];
}

// An atomic of both groups, read after a barrier of the block.
__global__ void __launch_bounds__(128) counted_by_groups(int *out, const int *in) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, in[threadIdx.x]);
  sync(1 + threadIdx.x / 64, 64);
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = count;
}

// The last warp waits for the others before it sums up what they have left.
__global__ void __launch_bounds__(128) last_warp_sums(int *out, const int *in) {
  __shared__ int part[96];
  int t = threadIdx.x;
  if (t < 96) {
    part[t] = in[t];
    arrive(1, 128);
  } else {
    sync(1, 128);
    int lane = t - 96;
    out[lane] = part[lane] + part[lane + 32] + part[lane + 64];
  }
}

// The same in rounds, with a barrier back.
__global__ void __launch_bounds__(128) last_warp_sums_in_rounds(int *out, const int *in, int rounds) {
  __shared__ int part[96];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (t < 96) {
      part[t] = in[k * 96 + t];
      arrive(1, 128);
      sync(2, 128);
    } else {
      sync(1, 128);
      int lane = t - 96;
      sum += part[lane] + part[lane + 32] + part[lane + 64];
      arrive(2, 128);
    }
  }
  if (t >= 96) out[t - 96] = sum;
}

// A tree of groups: pairs of warps, then fours.
__global__ void __launch_bounds__(128) tree(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  sync(1 + t / 64, 64);
  int v = s[t] + s[t ^ 32];
  sync(3, 128);
  s[t] = v;
  sync(4, 128);
  out[t] = s[t] + s[t ^ 64];
}

// The barrier waits in both arms of a branch that all threads take alike.
__global__ void __launch_bounds__(64) in_both_arms(int *out, const int *in, int mode) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  if (mode) {
    sync(1, 64);
    out[t] = s[63 - t];
  } else {
    sync(1, 64);
    out[t] = s[t ^ 32];
  }
}

// The last rounds of a loop are outside of it.
__global__ void __launch_bounds__(128) peeled(int *out, const int *in, int rounds) {
  __shared__ int s[2][64];
  int t = threadIdx.x % 64, side = threadIdx.x / 64, sum = 0;
  if (side == 0) {
    s[0][t] = in[t];
    arrive(1, 128);
    for (int k = 1; k < rounds; k++) {
      s[1][t] = in[k * 64 + t];
      sync(2, 128);
      s[0][t] = s[1][t];
      arrive(1, 128);
    }
  } else {
    for (int k = 0; k < rounds; k++) {
      sync(1, 128);
      sum += s[0][63 - t];
      if (k + 1 < rounds) arrive(2, 128);
    }
    out[t] = sum;
  }
}

// A reduction barrier with a count.
__global__ void __launch_bounds__(128) votes_of_a_group(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x, any;
  int v = in[t];
  s[t] = v;
  asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.or.pred q, %2, 64, p; selp.s32 %0, 1, 0, q; }"
               : "=r"(any) : "r"(v), "r"(1 + t / 64) : "memory");
  out[t] = any ? s[t ^ 63] : 0;
}

// A block whose size is stated, and a barrier that counts it.
__global__ void __launch_bounds__(96) counts_all(int *out, const int *in) {
  __shared__ int s[96];
  s[threadIdx.x] = in[threadIdx.x];
  sync(7, 96);
  out[threadIdx.x] = s[95 - threadIdx.x];
}
