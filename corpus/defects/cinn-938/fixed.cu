// fix: a lane that does not exist counts as 1
// launch: --launch-block 20

__device__ float product(float value) {
  unsigned mask = __activemask();
  for (int offset = 16; offset > 0; offset /= 2) {
    float other = __shfl_down_sync(mask, value, offset);
    if ((threadIdx.x & 31) + offset < blockDim.x) value *= other;
  }
  return value;
}

__global__ void products(const float *in, float *out) {
  float value = product(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = value;
}
