// source: https://github.com/moderngpu/moderngpu/pull/36
// defect: the arguments of a shuffle are one too few: the value is the mask, and the offset the value
// class: B
// when: a value that is no mask for its lanes
// found: missed

__global__ void shifted(const unsigned *in, unsigned *out, unsigned offset) {
  unsigned value = in[threadIdx.x];
  out[threadIdx.x] = __shfl_down_sync(value, offset, 16);  //~ PTX414
}
