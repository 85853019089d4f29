// why: generic atomics on shared and global memory, directly and through a function
// ptxcheck-args: -W potential

__device__ int total;

__device__ __noinline__ void count(int *where) {
  atomicAdd(where, 1);
}

__global__ void histogram(int *out, const int *in) {
  __shared__ int bins[64];
  bins[threadIdx.x & 63] = 0;
  __syncthreads();
  count(&bins[in[threadIdx.x] & 63]);
  count(out);
  count(&total);
  atomicMax(in[0] > 0 ? &bins[0] : out, 7);
  __syncthreads();
  out[threadIdx.x & 63] = bins[threadIdx.x & 63] + atomicCAS(&total, 0, 1);
}
