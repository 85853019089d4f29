// why: warps with roles: a shuffle of other warps is no match for lanes that go past the one of their own

__global__ void half_of_the_consumers(int *out, const int *in) {
  int value = in[threadIdx.x];
  if (threadIdx.x < 32) {
    value += __shfl_down_sync(0xffffffffu, value, 16);
  } else if ((threadIdx.x & 31) < 16) {
    value = 3 * value + 1;
    value += __shfl_down_sync(0xffffffffu, value, 8); //~ PTX401
    out[blockDim.x + threadIdx.x] = value;
  }
  out[threadIdx.x] = value;
}
