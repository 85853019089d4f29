// why: named barriers, whose number and count cover those that share a place

__device__ void sync(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
__device__ void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }

// right: warp 0 fills after it has heard that the buffer is free; the others read after they have heard that it is full.
__global__ void __launch_bounds__(128) full_and_free(float *out, const float *in, int rounds) {
  __shared__ float buffer[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    for (int k = 0; k < rounds; k++) {
      sync(2, 128);
      buffer[lane] = in[k * 32 + lane];
      arrive(1, 128);
    }
  } else {
    float sum = 0;
    for (int k = 0; k < rounds; k++) {
      arrive(2, 128);
      sync(1, 128);
      sum += buffer[31 - lane];
    }
    out[threadIdx.x - 32] = sum;
  }
}

// right: groups of 64 threads, each with a barrier and a region of its own.
__global__ void __launch_bounds__(256) groups_of_64(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t];
  sync(1 + group, 64);
  int v = s[t ^ 63];
  sync(1 + group, 64);
  s[t] = v + 1;
  sync(1 + group, 64);
  out[t] = s[t ^ 32];
}

// right: the first two warps exchange among themselves, with a barrier that counts them.
__global__ void __launch_bounds__(256) first_two_warps(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = s[63 - t];
  } else {
    out[t] = in[t];
  }
}

// right: barrier 0 with the count of the whole block is __syncthreads.
__global__ void __launch_bounds__(128) whole_block(int *out, const int *in) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  asm volatile("barrier.sync.aligned 0, 128;" ::: "memory");
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// right: barrier 5 without a count is one for the whole block, too.
__global__ void another_number(int *out, const int *in) {
  extern __shared__ int s[];
  s[threadIdx.x] = in[threadIdx.x];
  asm volatile("barrier.sync 5;" ::: "memory");
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

// right: one way is enough: the readers wait, the writers only arrive, and nobody writes again.
__global__ void __launch_bounds__(96) written_once(int *out, const int *in) {
  __shared__ int s[32];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.arrive 1, 96;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x - 32] = s[95 - threadIdx.x & 31];
  }
}

// right: a reduction barrier waits like any other.
__global__ void __launch_bounds__(64) barrier_that_votes(int *out, const int *in) {
  __shared__ int s[64];
  int v = in[threadIdx.x], any;
  s[threadIdx.x] = v;
  asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.or.pred q, 3, 64, p; selp.s32 %0, 1, 0, q; }" : "=r"(any) : "r"(v) : "memory");
  out[threadIdx.x] = any ? s[63 - threadIdx.x] : 0;
}
