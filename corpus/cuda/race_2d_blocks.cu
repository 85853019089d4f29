// why: blocks of two and three dimensions with a barrier too few

// wrong: no barrier in a block of any shape; in more than one warp a thread reads another warp's element.
__global__ void any_shape(int *out, const int *in) {
  __shared__ int s[1024];
  int size = blockDim.x * blockDim.y * blockDim.z;
  int rank = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  s[rank] = in[rank];
  __syncwarp();
  out[rank] = s[size - 1 - rank];  // not found: block size is not stated
}

// wrong: layers of two warps meet at a barrier that counts one.
// dim3(32, 2, 4)
__global__ void __launch_bounds__(256) layers(int *out, const int *in) {
  __shared__ int part[4][64];
  int t = threadIdx.y * 32 + threadIdx.x, z = threadIdx.z;
  part[z][t] = in[z * 64 + t];
  asm volatile("bar.sync %0, 32;" ::"r"(z + 1) : "memory");
  out[z * 64 + t] = part[z][63 - t];  // not found: named barriers are left out
}

// wrong: the first row stores the next scale while other rows read this one.
// dim3(64, 4)
__global__ void __launch_bounds__(256) row_tells(float *out, const float *in, int rounds) {
  __shared__ float scale[64];
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (threadIdx.y == 0) scale[threadIdx.x] = in[k * 64 + threadIdx.x];  // not found: block size is not stated
    __syncthreads();
    sum = sum * 0.5f + scale[threadIdx.x] * threadIdx.y;
  }
  out[threadIdx.y * 64 + threadIdx.x] = sum;
}
