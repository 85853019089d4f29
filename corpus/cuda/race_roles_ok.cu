// why: warps and threads with roles of their own, whose places are different or which a barrier parts

// right: all fill, a barrier, and one warp does the rest.
__global__ void __launch_bounds__(256) one_warp_at_the_end(float *out, const float *in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x] * 2;
  __syncthreads();
  if (threadIdx.x / 32 == 3) {
    float v = 0;
    for (int k = 0; k < 8; k++) v += s[k * 32 + threadIdx.x % 32];
    out[threadIdx.x % 32] = v;
  }
}

// right: thread 0 sets, a barrier, all read, a barrier, thread 0 sets again.
__global__ void thread_zero_tells(int *out, int *next, int limit) {
  __shared__ int tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int mine = tile;
    __syncthreads();
    if (mine >= limit) break;
    out[mine * blockDim.x + threadIdx.x] = mine;
  }
}

// right: each warp has a region of its own, which the switch gives it; a barrier before all are read.
__global__ void __launch_bounds__(128) regions_by_switch(float *out, const float *in) {
  __shared__ float s[160];
  int lane = threadIdx.x % 32;
  switch (threadIdx.x / 32) {
  case 0: s[lane] = in[lane]; break;
  case 1: s[32 + lane * 2] = in[lane + 32], s[33 + lane * 2] = in[lane + 64]; break;
  case 2: s[96 + lane] = in[lane + 96]; break;
  default: s[159 - lane] = 1; break;
  }
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + 16] * s[159 - threadIdx.x];
}

// right: the serial part of thread 0 is between two barriers.
__global__ void __launch_bounds__(256) serial_offsets(int *out, const int *count) {
  __shared__ int offset[257];
  offset[threadIdx.x + 1] = count[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    offset[0] = 0;
    for (int i = 1; i <= 256; i++) offset[i] += offset[i - 1];
  }
  __syncthreads();
  out[threadIdx.x] = offset[threadIdx.x] * 1000 + offset[threadIdx.x + 1];
}

// right: lane 0 writes the element of its warp, and its own warp alone reads it.
__global__ void element_of_warp(float *out, const float *in) {
  __shared__ float first[32];
  int warp = threadIdx.x / 32;
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (threadIdx.x % 32 == 0) first[warp] = v;
  __syncwarp();
  out[blockIdx.x * blockDim.x + threadIdx.x] = v - first[warp];
}

// right: the last warp writes what the first one reads after the barrier.
__global__ void __launch_bounds__(96) cleared_by_the_last(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t >= 64) s[t - 64] = s[t - 32] = in[t];
  __syncthreads();
  if (t < 32) out[t] = s[t] + s[t + 32];
}
