// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX414
// why: masks and data in their places; masks from memory that are meant, and ballots that are data

__global__ void reduced(unsigned *out, const unsigned *in) {
  unsigned value = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffff, value > 3);
  if (value > 3) atomicMax(out, __reduce_max_sync(mask, value));
}

__global__ void converted(unsigned *out, const float *in) {
  unsigned value = (unsigned)in[blockIdx.x * blockDim.x + threadIdx.x];
  out[threadIdx.x] = __reduce_add_sync(0xffffffff, value);
}

__global__ void mask_of_the_warp(unsigned *out, const unsigned *masks) {
  unsigned mask = masks[threadIdx.x / 32];
  out[threadIdx.x] = __reduce_or_sync(mask, __activemask());
}

__global__ void masks_of_groups(unsigned *out, const unsigned *masks, const int *in) {
  unsigned mask = masks[threadIdx.x];
  unsigned voted = __ballot_sync(mask, in[threadIdx.x] > 0);
  out[threadIdx.x] = __shfl_sync(mask, voted, __ffs(mask) - 1);
}

__global__ void data_by_a_mask(unsigned *out, const unsigned *masks, const unsigned *in) {
  out[threadIdx.x] = __shfl_sync(masks[threadIdx.x], in[threadIdx.x], 0);
}

__global__ void ballot_of_others(unsigned *out, const int *in) {
  unsigned voted = __ballot_sync(0xffffffff, in[threadIdx.x] > 0);
  out[threadIdx.x] = __shfl_sync(0xffffffff, voted, threadIdx.x ^ 1);
}

__device__ __noinline__ unsigned leader_of(unsigned mask, bool wanted) {
  return __shfl_sync(mask, __ballot_sync(mask, wanted), __ffs(mask) - 1);
}

__global__ void masks_of_groups_passed(unsigned *out, const unsigned *masks, const int *in) {
  out[threadIdx.x] = leader_of(masks[threadIdx.x], in[threadIdx.x] > 0);
}
