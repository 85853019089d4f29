// why: a warp waits for a flag that another one sets: fence and strong write here, strong read and fence there

// right: volatile flag, fences on both sides; the flag is cleared before a barrier.
__global__ void __launch_bounds__(64) volatile_flag(int *out, const int *in) {
  __shared__ int data[32];
  __shared__ volatile int ready;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (warp == 0) {
    data[lane] = in[lane];
    __syncwarp();
    if (lane == 0) {
      __threadfence_block();
      ready = 1;
    }
  } else {
    while (ready == 0) {}
    __threadfence_block();
    out[lane] = data[31 - lane];
  }
}

// right: each lane has a flag for its element: release by the writer, acquire by the reader.
__global__ void __launch_bounds__(64) release_and_acquire(int *out, const int *in) {
  __shared__ int data[32];
  __shared__ unsigned flag[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) flag[lane] = 0;
  __syncthreads();
  unsigned at = (unsigned)__cvta_generic_to_shared(&flag[lane]), seen = 0;
  if (threadIdx.x < 32) {
    data[lane] = in[lane];
    asm volatile("st.release.cta.shared.u32 [%0], 1;" ::"r"(at) : "memory");
  } else {
    while (seen == 0) asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
    out[lane] = data[lane];
  }
}

// right: the last warp to arrive at the counter adds up what all have left; fences before and after the counter.
__global__ void last_warp_adds(float *out, const float *in) {
  __shared__ float part[32];
  __shared__ int arrived;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x / 32;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (lane == 0) {
    part[warp] = v;
    __threadfence_block();
    if (atomicAdd(&arrived, 1) == warps - 1) {
      __threadfence_block();
      float all = 0;
      for (int w = 0; w < warps; w++) all += part[w];
      out[blockIdx.x] = all;
    }
  }
}

// right: a flag that only asks to stop: volatile on both sides, and nothing else depends on it.
__global__ void stop_early(int *out, const int *in, int key, int n) {
  __shared__ volatile bool stop;
  if (threadIdx.x == 0) stop = false;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (stop) break;
    if (in[i] == key) out[blockIdx.x] = 1, stop = true;
  }
}
