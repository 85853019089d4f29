// fix: the mask comes first

__global__ void shifted(const unsigned *in, unsigned *out, unsigned offset) {
  unsigned value = in[threadIdx.x];
  out[threadIdx.x] = __shfl_down_sync(0xffffffff, value, offset, 16);
}
