// why: masks that are not 0: full, an argument, a ballot, all lanes of a computed group, and 0 only where no lane calls

__global__ void full(int *out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, out[threadIdx.x], 1);
  __syncwarp();
}

__global__ void from_host(int *out, unsigned mask) {
  out[threadIdx.x] = __shfl_sync(mask, out[threadIdx.x], 0);
}

__global__ void from_ballot(int *out, const int *in) {
  bool wanted = in[threadIdx.x] > 0;
  unsigned mask = __ballot_sync(0xffffffffu, wanted);
  if (wanted) out[threadIdx.x] = __shfl_sync(mask, in[threadIdx.x], __ffs(mask) - 1);
}

__noinline__ __device__ int next(unsigned mask, int value) {
  return __shfl_down_sync(mask, value, 1);
}

__global__ void from_argument(int *out) {
  out[threadIdx.x] = next(0xffffffffu, out[threadIdx.x]);
}

__global__ void empty_ballot_is_not_used(int *out, const int *in) {
  unsigned mask = __ballot_sync(0xffffffffu, in[threadIdx.x] > 0);
  if (mask != 0) __syncwarp();
  out[threadIdx.x] = mask;
}
