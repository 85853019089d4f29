// targets: sm_90a
// why: `setmaxnreg` in functions, behind branches that a warp takes as a whole, in rounds and in turns; other launch bounds
// ptxcheck-args: -W potential:PTX420

#define LOWER(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define RAISE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
#define WORK(p) for (int i = 0; i < 8; i++) (p)[threadIdx.x + i * 512] += i

template <int n>
__device__ __forceinline__ void lower() { LOWER(n); }
template <int n>
__device__ __forceinline__ void raise() { RAISE(n); }
template <int n>
__device__ __noinline__ void lower_called() { LOWER(n); }
template <int n>
__device__ __noinline__ void raise_called() { RAISE(n); }
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}
__device__ __forceinline__ int warp_number() { return __shfl_sync(0xffffffff, threadIdx.x / 32, 0); }

// The functions of libraries, inlined and called.
__global__ void __launch_bounds__(384, 1) inlined(float *p) {
  if (warp_number() / 4 == 0) {
    lower<24>();
    WORK(p);
  } else {
    raise<240>();
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

__global__ void __launch_bounds__(384, 1) called(float *p) {
  if (threadIdx.x / 128 == 0) {
    lower_called<24>();
    WORK(p);
  } else {
    raise_called<240>();
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// A function that decides by the group.
__device__ __noinline__ void by_role(int group) {
  if (group == 0)
    LOWER(40);
  else
    RAISE(232);
}
__global__ void __launch_bounds__(384, 1) called_for_both(float *p) {
  by_role(threadIdx.x / 128);
  WORK(p);
  __syncthreads();
  WORK(p + 8192);
}

// The producer is the last group.
__global__ void __launch_bounds__(384, 1) producer_last(float *p) {
  if (threadIdx.x / 128 < 2) {
    RAISE(240);
    WORK(p);
  } else {
    LOWER(24);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// All warps work on a prologue first.
__global__ void __launch_bounds__(384, 1) after_a_prologue(float *p) {
  __shared__ float s[384];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 256) {
    LOWER(32);
    p[threadIdx.x] = s[threadIdx.x - 256];
  } else {
    RAISE(232);
    p[threadIdx.x] = s[threadIdx.x + 128];
  }
  __syncthreads();
  WORK(p);
}

// A parameter says whether registers are moved.
__global__ void __launch_bounds__(384, 1) if_asked_for(float *p, bool moves) {
  if (threadIdx.x / 128 == 0) {
    if (moves) LOWER(40);
    WORK(p);
  } else {
    if (moves) RAISE(232);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// In each round the same number.
__global__ void __launch_bounds__(384, 1) in_rounds(float *p, int n) {
  for (int i = 0; i < n; i++) {
    if (threadIdx.x / 128 == 0) {
      LOWER(24);
      WORK(p + i);
    } else {
      RAISE(240);
      WORK(p + 8192 + i);
    }
    __syncthreads();
  }
}

// The groups take turns.
__global__ void __launch_bounds__(256, 2) in_turns(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(56);
    WORK(p);
    __syncthreads();
    __syncthreads();
    RAISE(200);
    WORK(p);
  } else {
    RAISE(200);
    WORK(p + 8192);
    __syncthreads();
    LOWER(56);
    __syncthreads();
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// Given back at the end, as the epilogue of all warps needs it.
__global__ void __launch_bounds__(384, 1) given_back(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(40);
    WORK(p);
    __syncthreads();
    RAISE(168);
  } else {
    RAISE(232);
    WORK(p + 8192);
    LOWER(168);
    __syncthreads();
  }
  WORK(p);
  __syncthreads();
  WORK(p + 4096);
}

// Roles of single warps within the group that has lowered.
__global__ void __launch_bounds__(384, 1) roles_of_warps(float *p, int n) {
  int warp = warp_number();
  if (warp < 4) {
    LOWER(40);
    if (warp == 0) {
      if (elected())
        for (int i = 0; i < n; i++) p[i] = 1;
    } else if (warp == 1) {
      WORK(p + 4096);
    }
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// Warps that have no role end after they have lowered.
__global__ void __launch_bounds__(512, 1) without_a_role(float *p) {
  int warp = warp_number();
  if (warp >= 12) {
    LOWER(24);
    if (warp > 12) return;
    WORK(p);
  } else {
    RAISE(160);
    WORK(p + 8192);
  }
}

// Three sizes: 24 + 24 + 2 * 232 = 512.
__global__ void __launch_bounds__(512, 1) two_lowered(float *p) {
  switch (threadIdx.x / 128) {
    case 0: LOWER(24); WORK(p); break;
    case 1: LOWER(24); WORK(p + 4096); break;
    default: RAISE(232); WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// All that a group of its own may have.
__global__ void __launch_bounds__(128, 1) alone(float *p) {
  RAISE(256);
  WORK(p);
  __syncthreads();
  WORK(p + 8192);
}

// Lowered by all, and raised again by all.
__global__ void __launch_bounds__(384, 1) down_and_up(float *p) {
  LOWER(80);
  WORK(p);
  __syncthreads();
  RAISE(168);
  WORK(p + 8192);
  __syncthreads();
  WORK(p);
}

// In steps: each warpgroup goes through several numbers.
__global__ void __launch_bounds__(384, 1) in_steps(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(80);
    WORK(p);
    LOWER(24);
    WORK(p + 4096);
  } else {
    RAISE(208);
    WORK(p + 8192);
    RAISE(240);
    WORK(p + 12288);
  }
  __syncthreads();
  WORK(p);
}

// Three blocks in a multiprocessor: a thread starts with 80 registers.
__global__ void __launch_bounds__(256, 3) three_blocks(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(24);
    WORK(p);
  } else {
    RAISE(136);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// A cluster.
__global__ void __cluster_dims__(2) __launch_bounds__(384, 1) in_a_cluster(float *p) {
  if (threadIdx.x / 128 == 0) {
    LOWER(40);
    WORK(p);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  WORK(p);
}

// A table says which role a group has.
__global__ void __launch_bounds__(384, 1) role_of_a_table(float *p, const int *role) {
  if (role[threadIdx.x / 128] == 0) {
    LOWER(96);
    WORK(p);
  } else {
    RAISE(232);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}

// A loop over tiles within each role, which waits for the other one.
__global__ void __launch_bounds__(384, 1) over_tiles(float *p, int tiles) {
  __shared__ float s[128];
  if (threadIdx.x < 128) {
    lower<24>();
    for (int i = 0; i < tiles; i++) {
      if (i > 0) asm volatile("bar.sync 2, 384;" ::: "memory");
      s[threadIdx.x] = p[threadIdx.x + i];
      asm volatile("bar.arrive 1, 384;" ::: "memory");
    }
  } else {
    raise<240>();
    for (int i = 0; i < tiles; i++) {
      asm volatile("bar.sync 1, 384;" ::: "memory");
      p[threadIdx.x + 1024 * i] = s[threadIdx.x % 128];
      if (i + 1 < tiles) asm volatile("bar.arrive 2, 384;" ::: "memory");
    }
  }
}

// 2 * 152 + 176 = 480, of 504.
__global__ void __launch_bounds__(384, 1) one_alone_raises(float *p) {
  if (threadIdx.x / 128 == 2) {
    RAISE(176);
    WORK(p);
  } else {
    LOWER(152);
    WORK(p + 8192);
  }
  __syncthreads();
  WORK(p);
}
