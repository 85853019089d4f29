// source: https://github.com/sgl-project/sglang/pull/9620
// defect: the maximum of groups of 16 lanes, with the mask of the lower half in the upper half, too
// class: A
// found: default

__device__ float group_max(float value) {
  unsigned mask = 0xffff;
  value = fmaxf(value, __shfl_xor_sync(mask, value, 8));  //~ PTX403
  value = fmaxf(value, __shfl_xor_sync(mask, value, 4));  //~ PTX403
  value = fmaxf(value, __shfl_xor_sync(mask, value, 2));  //~ PTX403
  return fmaxf(value, __shfl_xor_sync(mask, value, 1));   //~ PTX403
}

__global__ void scales(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float most = group_max(fabsf(in[i]));
  if (threadIdx.x % 16 == 0) out[i / 16] = most / 127;
}
