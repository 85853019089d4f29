// fix: the mask is full: all lanes come

__device__ int reduce(const int *in, int count, int stride) {
  int sum = 0;
  for (int i = threadIdx.x % 32; i < count; i += stride) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  return sum;
}

__global__ void totals(const int *in, int count, int *out) { out[threadIdx.x] = reduce(in, count, 32); }
