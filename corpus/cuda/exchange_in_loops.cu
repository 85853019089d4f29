// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that read in one round of a loop what others write in it or in the one before, and nothing makes them wait

__global__ void rolled_tail(int *out, const int *in) {
  __shared__ volatile int sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  if (t < 32) {
#pragma unroll 1
    for (int by = 32; by > 0; by >>= 1) sums[t] += sums[t + by];  //~ PTX415
  }
  if (t == 0) out[0] = sums[0];
}

// Each round reads what the round before wrote elsewhere.
__global__ void rotated(int *out, const int *in) {
  __shared__ int values[2][32];
  unsigned lane = threadIdx.x & 31;
  values[0][lane] = in[lane];
  __syncwarp();
#pragma unroll 1
  for (int round = 0; round < 6; round++)
    values[~round & 1][lane] = values[round & 1][(lane + 1) & 31] + round;  //~ PTX415
  __syncwarp();
  if (threadIdx.x < 32) out[lane] = values[0][lane];
}

// The number of the thread in its block, whichever shape that has.
__global__ void by_rank(int *out, const int *in) {
  __shared__ volatile int sums[256];
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  if (t < 32) {
    sums[t] += sums[t + 32];
    sums[t] += sums[t + 16];  //~ PTX415
    sums[t] += sums[t + 8];
  }
  if (t == 0) out[0] = sums[0];
}
