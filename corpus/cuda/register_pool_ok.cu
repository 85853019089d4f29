// targets: sm_90a
// why: the numbers of registers that libraries use, roles by warps, rows and shuffles, several sizes of blocks
// ptxcheck-args: -W potential

#define LOWER(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define RAISE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
#define WORK(p) for (int i = 0; i < 8; i++) (p)[threadIdx.x + i * 512] += i

template <int threads, int low, int high>
__device__ void roles(float *p) {
  int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (group == 0) {
    LOWER(low);
    WORK(p);
  } else {
    RAISE(high);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

__global__ void __launch_bounds__(384, 1) cooperative(float *p) { roles<384, 40, 232>(p); }
__global__ void __launch_bounds__(384, 1) attention(float *p) { roles<384, 24, 240>(p); }
__global__ void __launch_bounds__(512, 1) three_consumers(float *p) { roles<512, 32, 160>(p); }
__global__ void __launch_bounds__(256, 1) one_consumer(float *p) { roles<256, 24, 240>(p); }
__global__ void __launch_bounds__(256, 2) two_blocks(float *p) { roles<256, 56, 200>(p); }

// The producer has one warp, and the others of its warpgroup end.
__global__ void __launch_bounds__(384, 1) idle_warps(float *p) {
  if (threadIdx.x < 128) {
    LOWER(40);
    if (threadIdx.x >= 32) return;
    WORK(p);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
}

// Each warp of the last warpgroup has a role, and lowers by itself.
__global__ void __launch_bounds__(512, 1) role_of_a_warp(float *p) {
  int warp = threadIdx.x / 32;
  if (warp < 8) {
    RAISE(192);
    WORK(p);
  } else if (warp < 12) {
    LOWER(96);
    WORK(p + 4096);
  } else if (warp == 12) {
    LOWER(32);
    WORK(p + 8192);
  } else if (warp == 13) {
    LOWER(32);
    WORK(p + 12288);
  } else {
    LOWER(24);
  }
}

// Raised for a part of the work.
__global__ void __launch_bounds__(384, 1) lowered_again(float *p, int rounds) {
  int group = threadIdx.x / 128;
  if (group == 0) {
    LOWER(24);
    WORK(p);
  } else {
    RAISE(240);
    WORK(p + 8192);
    asm volatile("bar.sync 1, 256;" ::: "memory");
    LOWER(120);
  }
  for (int i = 0; i < rounds; i++) WORK(p + i);
}

// The roles depend on a parameter.
__global__ void __launch_bounds__(384, 1) role_by_parameter(float *p, int producers) {
  if (threadIdx.x / 128 < producers) {
    LOWER(96);
    WORK(p);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
}

// The kernel reads the row: the shape of its blocks is not known.
__global__ void __launch_bounds__(384, 1) role_by_row(float *p) {
  if (threadIdx.y == 0) {
    LOWER(96);
    WORK(p);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
}

// A block of four or more warpgroups.
__global__ void __launch_bounds__(1024, 1) any_size(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(24);
    WORK(p);
  } else {
    RAISE(64);
    WORK(p + 8192);
  }
}
