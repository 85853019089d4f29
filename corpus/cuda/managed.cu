// why: a managed variable is one that both sides may name
// compilers: nvcc
// ptxcheck-args: --whole-program

__managed__ int progress;
__device__ __managed__ float results[32];

__global__ void report(const float *in) {
  results[threadIdx.x & 31] = in[threadIdx.x];
  if (threadIdx.x == 0) atomicAdd(&progress, 1);
}
