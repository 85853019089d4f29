// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that hand values on in the rounds of a loop, and wait in each, or read what nobody writes there

__global__ void rolled_tail(int *out, const int *in) {
  __shared__ int sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  if (t < 32) {
#pragma unroll 1
    for (int by = 32; by > 0; by >>= 1) {
      int other = sums[t + by];
      __syncwarp();
      sums[t] += other;
      __syncwarp();
    }
  }
  if (t == 0) out[0] = sums[0];
}

// A round writes one half and reads the other; a call parts the rounds.
__global__ void rotated(int *out, const int *in) {
  __shared__ int values[2][32];
  unsigned lane = threadIdx.x & 31;
  values[0][lane] = in[lane];
#pragma unroll 1
  for (int round = 0; round < 6; round++) {
    __syncwarp();
    values[~round & 1][lane] = values[round & 1][(lane + 1) & 31] + round;
  }
  __syncwarp();
  if (threadIdx.x < 32) out[lane] = values[0][lane];
}

// Those that are read in a round have been written before the barrier, and are not written in the loop.
__global__ void halves(int *out, const int *in) {
  __shared__ int sums[256];
  unsigned t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
#pragma unroll 1
  for (int by = 4; by > 0; by /= 2) {
    if (t < by * 32) sums[t] += sums[t + by * 32];
    __syncthreads();
  }
  if (t == 0) out[0] = sums[0];
}

// Each round has rows of its own: a lane reads its own column.
__global__ void columns(int *out, const int *in) {
  __shared__ int rows[9][32];
  unsigned lane = threadIdx.x & 31;
  rows[0][lane] = in[lane];
#pragma unroll 1
  for (int row = 0; row < 8; row++) rows[row + 1][lane] = rows[row][lane] * 3;
  if (threadIdx.x < 32) out[lane] = rows[8][lane];
}

// The lanes that are read do not write.
__global__ void by_rank(int *out, const int *in) {
  __shared__ int sums[256];
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  if (t < 16) sums[t] += sums[t + 16];
  if (t == 0) out[0] = sums[0];
}
