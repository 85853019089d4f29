// why: __activemask() at once, and after a branch by which some of its lanes may have left
// ptxcheck-args: -W PTX410

__global__ void at_once(int *out, int n) {
  if (out[threadIdx.x] < n) {
    unsigned mask = __activemask();
    out[threadIdx.x] = __shfl_sync(mask, n, __ffs(mask) - 1);
  }
}

__global__ void after_a_branch(int *out, int n) {
  unsigned mask = __activemask();
  int value = out[threadIdx.x];
  if (value < n) {
    out[threadIdx.x + 32] = __shfl_sync(mask, value, 0); //~ PTX410?
  }
  out[threadIdx.x] = value + 1;
}
