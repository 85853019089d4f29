// targets: sm_75 sm_90 sm_120
// why: the steps of a sum in a loop: each reads what others write in the same step, and lanes wait for each other behind it only

constexpr int THREADS = 256;

// The warp takes all its steps alike, as many as it has lanes to halve.
__global__ void largest(float *out, const float *in, int n) {
  __shared__ float best[THREADS];
  const int t = threadIdx.x;
  float mine = -1e30f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine = fmaxf(mine, in[i]);
  best[t] = mine;
  __syncthreads();
#pragma unroll
  for (int by = THREADS / 2; by > warpSize; by >>= 1) {
    if (t < by) best[t] = fmaxf(best[t], best[t + by]);
    __syncthreads();
  }
  for (int by = warpSize; by > 0; by >>= 1) {
    if (t < warpSize) best[t] = fmaxf(best[t], best[t + by]);  //~ PTX415
    __syncwarp();
  }
  if (t == 0) out[blockIdx.x] = best[0];
}

// The barrier is in the branch, and the compiler knows the number of steps.
__global__ void product(float *out, const float *in) {
  __shared__ float factors[THREADS];
  const int t = threadIdx.x;
  factors[t] = in[blockIdx.x * THREADS + t];
  __syncthreads();
  if (t < 64) factors[t] *= factors[t + 64] * factors[t + 128] * factors[t + 192];
  __syncthreads();
  if (t < 32) {
#pragma unroll
    for (int by = 32; by > 0; by >>= 1) {
      factors[t] *= factors[t + by];  //~ PTX415
      __syncwarp();
    }
  }
  if (t == 0) out[blockIdx.x] = factors[0];
}
