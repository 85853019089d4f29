// source: https://github.com/ORNL/HeCBench/blob/master/src/bscan-cuda/main.cu
// defect: the mask of a ballot is the lanes below the one that calls, which no lane is one of
// class: A
// found: default

__device__ unsigned lanes_below() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

__global__ void positions(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned before = __ballot_sync(lanes_below(), in[i] > 0);  //~ PTX403
  out[i] = __popc(before);
}
