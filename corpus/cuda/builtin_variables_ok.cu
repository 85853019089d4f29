// why: a debug build of clang passes the address of threadIdx, which nothing defines and nobody reads
// ptxcheck-args: --whole-program -W potential

__global__ void places(int *out) {
  dim3 thread = threadIdx;
  dim3 size = blockDim;
  uint3 block = blockIdx;
  out[thread.x + size.x * block.x] = gridDim.y;
}
