// why: blocks, or what is left of them, of one warp, whose lanes wait by __syncwarp

// right: a block has 32 threads at most.
__global__ void __launch_bounds__(32) reversed(int *out, const int *in) {
  __shared__ int s[32];
  s[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  __syncwarp();
  out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}

// right: lane 0 takes a ticket, and the warp waits on both sides.
__global__ void __launch_bounds__(32) tickets(int *out, int *next, int limit) {
  __shared__ int ticket;
  for (;;) {
    if (threadIdx.x == 0) ticket = atomicAdd(next, 1);
    __syncwarp();
    int mine = ticket;
    __syncwarp();
    if (mine >= limit) return;
    out[mine * 32 + threadIdx.x] = mine ^ threadIdx.x;
  }
}

// right: one warp as 8 x 4.
// dim3(8, 4)
__global__ void __launch_bounds__(32) eight_by_four(int *out, const int *in) {
  __shared__ int s[4][8];
  s[threadIdx.y][threadIdx.x] = in[threadIdx.y * 8 + threadIdx.x];
  __syncwarp();
  out[threadIdx.y * 8 + threadIdx.x] = s[3 - threadIdx.y][7 - threadIdx.x];
}
