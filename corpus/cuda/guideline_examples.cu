// why: what the guidelines 1.14, 2.3 and 2.4 show as bad, in our words
// ptxcheck-args: -W potential:PTX411

// 1.14: one thread at a time gets to a barrier of the block.
__global__ void one_barrier_each(int *out) {
  for (unsigned i = 0; i < blockDim.x; ++i) {
    if (i == threadIdx.x) {
      out[i] = 1;
      __syncthreads(); //~ PTX411?
    }
  }
}

// 1.14: odd threads never get there.
__global__ void half_of_a_block(int *out) {
  __shared__ int buffer[1024];
  buffer[threadIdx.x] = 0;
  if (threadIdx.x % 2 == 0) {
    buffer[threadIdx.x] = threadIdx.x;
    __syncthreads(); //~ PTX411
  }
  out[threadIdx.x] = buffer[threadIdx.x ^ 1];
}

// 2.3: all lanes call, and only lane 0 is named.
__global__ void one_named(int *out) {
  out[threadIdx.x] = 1;
  __syncwarp(1u); //~ PTX403
  out[threadIdx.x ^ 1] += 1;
}

// 2.3: the source is the lane that the mask leaves out.
__global__ void source_not_named(int *out) {
  if (threadIdx.x == 0) return;
  out[threadIdx.x] = __shfl_sync(~1u, out[threadIdx.x], 0); //~ PTX404
}

// 2.3: the source is named, and has ended.
__global__ void source_has_ended(int *out) {
  if (threadIdx.x == 0) return;
  out[threadIdx.x] = __shfl_sync(~0u, out[threadIdx.x], 0); //~ PTX404
}

// 2.4: lane 0 waits for lanes that pass another mask.
__global__ void two_masks(int *out) {
  out[threadIdx.x] = 1;
  if (threadIdx.x % 32 == 0) {
    __syncwarp(~0u); //~ PTX406
  } else {
    __syncwarp(~1u);
  }
  out[threadIdx.x ^ 1] += 1; //~ PTX415
}

// 2.4: a variable that differs by lane.
__global__ void mask_by_lane(int *out) {
  unsigned mask = threadIdx.x % 32 < 8 ? 0x000000ffu : 0xffffffffu;
  out[threadIdx.x] = 1;
  __syncwarp(mask); //~ PTX406
  out[threadIdx.x ^ 1] += 1;
}
