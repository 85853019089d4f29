// targets: sm_90a
// why: the warpgroups of a block ask for more registers than it has at the start, or not all warps of one ask

#define LOWER(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define RAISE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
#define WORK(p) for (int i = 0; i < 8; i++) (p)[threadIdx.x + i * 512] += i

// 96 + 2 * 232 = 560, and 3 * 168 = 504.
__global__ void __launch_bounds__(384, 1) lowered_too_little(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(96);
    WORK(p);
  } else if (threadIdx.x / 128 == 1) {
    RAISE(232);  //~[O3,clang-G] PTX420
    WORK(p + 8192);
  } else {
    RAISE(232);
    WORK(p + 16384);
  }
  __syncthreads();
  WORK(p);
}

// The last argument alone is another one than usual.
__global__ void __launch_bounds__(256, 2) two_blocks(float *p) {
  int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (group == 0) {
    LOWER(24);
    WORK(p);
  } else {
    RAISE(240);  //~[O3] PTX420
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// Nothing is lowered.
__global__ void __launch_bounds__(512, 1) lowered_none(float *p) {
  if (threadIdx.x >= 256) {
    RAISE(168);  //~[O3,clang-G] PTX420
    WORK(p);
  }
  __syncthreads();
  WORK(p);
}

// A part of a warpgroup.
__global__ void __launch_bounds__(384, 1) one_warp(float *p) {
  if (threadIdx.x / 32 == 3) {
    LOWER(40);  //~[O3,clang-G] PTX420
    WORK(p);
  } else if (threadIdx.x / 128 == 0) {
    WORK(p + 4096);
  }
  __syncthreads();
  WORK(p);
}

// 168 registers at the start.
__global__ void __launch_bounds__(384, 1) raised_to_less(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(40);
    WORK(p);
  } else if (threadIdx.x / 128 == 1) {
    RAISE(160);  //~[O3,clang-G] PTX420
    WORK(p + 4096);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}
