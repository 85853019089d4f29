// ptxcheck-args: -W potential
// why: values and masks that collectives of known values give

__global__ void shuffled_lane(int *out, const int *in) {
  unsigned lane = threadIdx.x & 31;
  unsigned first = __shfl_sync(0xffffffffu, lane, 0);
  unsigned other = __shfl_xor_sync(0xffffffffu, lane, 1);
  int v = in[threadIdx.x];
  if (other < 16) v += __any_sync(0xffffu << first, v);
  out[threadIdx.x] = v;
}

__global__ void shuffled_lane_wrong(int *out, const int *in) {
  unsigned lane = threadIdx.x & 31;
  unsigned other = __shfl_xor_sync(0xffffffffu, lane, 1);
  int v = in[threadIdx.x];
  if (other < 16) v += __any_sync(0xffffffffu, v); //~ PTX401
  out[threadIdx.x] = v;
}

__global__ void matched(int *out, const int *in) {
  unsigned lane = threadIdx.x & 31;
  unsigned mask = __match_any_sync(0xffffffffu, lane / 8);
  int v = in[threadIdx.x];
  v += __any_sync(mask, v);
  out[threadIdx.x] = v;
}

__global__ void matched_in_part(int *out, const int *in) {
  unsigned lane = threadIdx.x & 31;
  unsigned mask = __match_any_sync(0xffffffffu, lane / 8);
  int v = in[threadIdx.x];
  if (lane % 8 < 4) v += __any_sync(mask, v); //~ PTX401
  out[threadIdx.x] = v;
}

__global__ void matched_without(int *out, const int *in) {
  unsigned lane = threadIdx.x & 31;
  int v = in[threadIdx.x];
  unsigned mask = __match_any_sync(0xffffffffu, v);
  v += __any_sync(mask & ~(1u << lane), v); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void matched_all(int *out, const int *in) {
  int v = in[threadIdx.x], is_all;
  unsigned mask = __match_all_sync(0xffffffffu, v, &is_all);
  if (is_all) v += __any_sync(mask, v);
  out[threadIdx.x] = v;
}

__global__ void coalesced_without(int *out) {
  unsigned mask = __activemask();
  __syncwarp(mask & ~(1u << (threadIdx.x & 31))); //~ PTX403
  out[threadIdx.x] = 1;
}
