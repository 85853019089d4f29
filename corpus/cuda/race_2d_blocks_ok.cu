// why: blocks of two and three dimensions, of a shape that a comment states, or of any

// right: the number in the block, whatever its shape; a barrier before others are read.
__global__ void any_shape(int *out, const int *in) {
  __shared__ int s[1024];
  int size = blockDim.x * blockDim.y * blockDim.z;
  int rank = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  s[rank] = in[rank];
  __syncthreads();
  out[rank] = s[size - 1 - rank];
}

// right: layers of the block have parts of their own and their own barrier.
// dim3(32, 2, 4)
__global__ void __launch_bounds__(256) layers(int *out, const int *in) {
  __shared__ int part[4][64];
  int t = threadIdx.y * 32 + threadIdx.x, z = threadIdx.z;
  part[z][t] = in[z * 64 + t];
  asm volatile("bar.sync %0, 64;" ::"r"(z + 1) : "memory");
  out[z * 64 + t] = part[z][63 - t];
}

// right: columns of threads share an element that the first row writes, with a barrier on both sides.
// dim3(64, 4)
__global__ void __launch_bounds__(256) row_tells(float *out, const float *in, int rounds) {
  __shared__ float scale[64];
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (threadIdx.y == 0) scale[threadIdx.x] = in[k * 64 + threadIdx.x];
    __syncthreads();
    sum = sum * 0.5f + scale[threadIdx.x] * threadIdx.y;
    __syncthreads();
  }
  out[threadIdx.y * 64 + threadIdx.x] = sum;
}
