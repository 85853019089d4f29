// targets: sm_90
// why: groups of warps, hand-overs and schedulers with barriers that count threads
// ptxcheck-args: --launch-block 128 -W potential:PTX419

#define SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

// A number for each group.
__global__ void groups(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) SYNC(1, 64); else SYNC(2, 64);
  p[threadIdx.x] = s[threadIdx.x ^ 32];
}

// A computed number.
__global__ void number_of_the_group(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  asm volatile("bar.sync %0, 64;" ::"r"(threadIdx.x / 64 + 1) : "memory");
  p[threadIdx.x] = s[threadIdx.x ^ 32];
}

// A producer and a consumer with two barriers, in a loop.
__global__ void full_and_empty(float *p, int n) {
  __shared__ float s[64];
  if (threadIdx.x < 64) {
    for (int i = 0; i < n; i++) {
      SYNC(2, 128);
      s[threadIdx.x] = p[threadIdx.x + i];
      ARRIVE(1, 128);
    }
  } else {
    ARRIVE(2, 128);
    for (int i = 0; i < n; i++) {
      SYNC(1, 128);
      p[threadIdx.x + i] = s[threadIdx.x - 64];
      ARRIVE(2, 128);
    }
  }
}

// Two groups take turns.
__global__ void turns(float *p, int n) {
  __shared__ float s;
  int group = threadIdx.x / 64;
  if (group == 1) ARRIVE(1, 128);
  for (int i = 0; i < n; i++) {
    if (group == 0) SYNC(1, 128); else SYNC(2, 128);
    if (threadIdx.x % 64 == 0) s += p[i];
    if (group == 0) ARRIVE(2, 128); else ARRIVE(1, 128);
  }
  p[threadIdx.x] = 1;
}

// The same number again, after the barrier of the block.
__global__ void again(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x < 64) SYNC(1, 64);
  __syncthreads();
  if (threadIdx.x >= 64) SYNC(1, 64);
  __syncthreads();
  SYNC(1, 128);
  p[threadIdx.x] = s[threadIdx.x ^ 32];
}

// The last warp has no part in it.
__global__ void without_the_last(float *p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x >= 96) return;
  SYNC(1, 96);
  p[threadIdx.x] = s[95 - threadIdx.x];
}

// Stages: each warp hands over to the next one.
__global__ void stages(float *p) {
  __shared__ float s[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    s[lane] = p[lane];
    ARRIVE(1, 64);
  } else if (warp == 1) {
    SYNC(1, 64);
    s[lane] *= 2;
    ARRIVE(2, 64);
  } else if (warp == 2) {
    SYNC(2, 64);
    s[lane] += 1;
    ARRIVE(3, 64);
  } else {
    SYNC(3, 64);
    p[lane] = s[lane];
  }
}

// The count is a parameter, and the role depends on data.
__global__ void not_known(float *p, int count, const int *role) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
  if (role[threadIdx.x / 32]) SYNC(2, 64);
  p[threadIdx.x] = 1;
}
