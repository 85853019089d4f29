// targets: sm_90
// why: barriers that count threads, and other threads come to them
// ptxcheck-args: --launch-block 128

#define SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

// Two warps, and a count of four.
__global__ void too_few(float *p) {
  __shared__ float s[128];
  int warp = threadIdx.x / 32;
  s[threadIdx.x] = p[threadIdx.x];
  if (warp < 2) {
    SYNC(1, 128);  //~ PTX419
    p[threadIdx.x] = s[threadIdx.x ^ 32];
  }
}

// In each round of a loop.
__global__ void too_few_in_rounds(float *p, int n) {
  __shared__ float s[128];
  int warp = threadIdx.x / 32;
  if (warp == 0) return;
  for (int i = 0; i < n; i++) {
    s[threadIdx.x] = p[threadIdx.x + i];
    SYNC(2, 128);  //~ PTX419
    p[threadIdx.x + i] = s[threadIdx.x ^ 1];
    SYNC(3, 96);
  }
}

// One number for a reduction of two warps and for one of all four.
__global__ void two_reductions(float *p) {
  __shared__ float s[128], t[4];
  int warp = threadIdx.x / 32;
  s[threadIdx.x] = p[threadIdx.x];
  if (warp < 2) {
    SYNC(1, 64);
    if (threadIdx.x % 32 == 0) t[warp] = s[threadIdx.x ^ 32];
  }
  SYNC(1, 128);  //~ PTX419
  p[threadIdx.x] = t[0] + t[1];
}

// Crossed order.
__global__ void crossed(float *p) {
  int warp = threadIdx.x / 32;
  if (warp < 2) {
    SYNC(1, 128);  //~ PTX419
    p[threadIdx.x] += 1;
    SYNC(2, 128);
  } else {
    SYNC(2, 128);
    p[threadIdx.x] += 2;
    SYNC(1, 128);
  }
}

// Three warps come to a barrier for two.
__global__ void too_many(float *p) {
  int warp = threadIdx.x / 32;
  if (warp < 3) {
    p[threadIdx.x] += 1;
    SYNC(1, 64);  //~ PTX419
    p[threadIdx.x ^ 32] += 2;
  }
}

// The barrier of the block, and one that counts those that wait there.
__global__ void at_another_barrier(float *p) {
  int warp = threadIdx.x / 32;
  if (warp < 2) {
    p[threadIdx.x] += 1;
    SYNC(1, 128);  //~ PTX419
  } else {
    p[threadIdx.x] += 2;
    __syncthreads();
    SYNC(1, 128);
  }
  p[threadIdx.x ^ 1] += 3;
  __syncthreads();
}
