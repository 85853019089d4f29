// why: two arrays of dynamic shared memory begin at the same address
extern __shared__ int counts[];
extern __shared__ float sums[];

__global__ void both(const float *in, float *out) {
  counts[threadIdx.x] = int(in[threadIdx.x]);
  sums[threadIdx.x] = in[threadIdx.x];  //~ PTX605
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x ^ 1] + counts[threadIdx.x];
}

__global__ void one(const float *in, float *out) {
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x ^ 1];
}
