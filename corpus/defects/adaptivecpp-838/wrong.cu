// source: https://github.com/AdaptiveCpp/AdaptiveCpp/pull/838
// defect: a reduction masks its shuffles with an `__activemask()` that was taken before a loop whose length differs
// class: B
// when: a warp of which the scheduler runs lanes apart before they ask for the mask
// found: missed

__device__ int reduce(const int *in, int count, int stride) {
  unsigned active = __activemask();
  int sum = 0;
  for (int i = threadIdx.x % 32; i < count; i += stride) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(active, sum, offset);  //~ PTX410
  return sum;
}

__global__ void totals(const int *in, int count, int *out) { out[threadIdx.x] = reduce(in, count, 32); }
