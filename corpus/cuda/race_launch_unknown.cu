// why: wrong in blocks of more than one warp, and nothing in the kernel says that blocks have more

// wrong: the lanes wait, other warps do not.
__global__ void reversed(int *out, const int *in) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncwarp();
  out[t] = s[blockDim.x - 1 - t];  // not found: block size is not stated
}

// wrong: thread 0 stores, its warp waits, others read.
__global__ void thread_zero_tells(int *out, int *next) {
  __shared__ int base;
  if (threadIdx.x == 0) base = atomicAdd(next, 32);
  __syncwarp();
  out[base + threadIdx.x] = 1;  // not found: block size is not stated
}

// wrong: the array has room for one warp, and other warps would write there, too.
__global__ void one_row(int *out, const int *in) {
  __shared__ int row[32];
  int lane = threadIdx.x & 31;
  row[lane] = in[threadIdx.x];  // not found: block size is not stated
  __syncwarp();
  out[threadIdx.x] = row[31 - lane];
}

// wrong: rounds of a tile as long as the block, with __syncwarp on both sides.
__global__ void tiles(float *out, const float *in, int n) {
  extern __shared__ float tile[];
  float sum = 0;
  for (int k = 0; k < n; k += blockDim.x) {
    tile[threadIdx.x] = in[k + threadIdx.x];  // not found: block size is not stated
    __syncwarp();
    for (int j = 0; j < blockDim.x; j++) sum += tile[j];  // not found: block size is not stated
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}
