// source: https://github.com/PaddlePaddle/CINN/pull/938
// defect: a product over a block of 20 threads multiplies in what lanes that do not exist pass on
// class: B
// when: blocks of 20 threads
// launch: --launch-block 20
// found: its launch

__device__ float product(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value *= __shfl_down_sync(0xffffffff, value, offset);  //~ PTX404 PTX413
  return value;
}

__global__ void products(const float *in, float *out) {
  float value = product(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = value;
}
