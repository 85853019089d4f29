// why: dynamic shared memory, constant and texture memory are the module's own, or the launch's
// ptxcheck-args: --whole-program

extern __shared__ int tile[];

__constant__ int weights[8];
__device__ int total;

__global__ void mix(int *out, cudaTextureObject_t image) {
  tile[threadIdx.x] = out[threadIdx.x] * weights[threadIdx.x & 7];
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x] + tex2D<int>(image, 0.5f, 0.5f);
  if (threadIdx.x == 0) atomicAdd(&total, out[0]);
}
