// targets: sm_75 sm_90 sm_120
// why: lanes of a warp that read in global memory, or in a part of shared memory, what others write, and nothing makes them wait

__device__ int turns[64];

__global__ void neighbours(int *out, int *values) {
  unsigned t = threadIdx.x;
  values[t] = out[t];
  out[t] = values[t ^ 1];  //~ PTX415
}

// The same distance from the begin of the parameter, whichever the block is.
__global__ void of_block(int *out, int *values) {
  unsigned first = blockIdx.x * 256;
  values[first + threadIdx.x] = threadIdx.x;
  out[first + threadIdx.x] = values[first + (threadIdx.x ^ 1)];  //~ PTX415
}

__global__ void of_any_block(int *out, int *values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = i * 3;
  out[i] = values[i ^ 1];  //~ PTX415
}

// Each element becomes the sum of itself and the next one, in place.
__global__ void in_place(float *values) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] + values[i + 1];  //~ PTX415
}

// The first lane counts on before all others have read.
__global__ void counter(int *out, int *count) {
  int base = *count;  //~ PTX415
  if (threadIdx.x == 0) *count = base + 32;
  out[threadIdx.x] = base;
}

__global__ void variable(int *out) {
  if (threadIdx.x == 0) turns[3] = out[0];
  out[threadIdx.x] = turns[3];  //~ PTX415
}

__global__ void part_of_shared(int *out, int first) {
  extern __shared__ int pool[];
  int *part = pool + first;
  part[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = part[threadIdx.x ^ 1];  //~ PTX415
}
