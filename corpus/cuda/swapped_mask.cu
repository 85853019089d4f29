// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX414
// why: the value of a collective is a mask, and its member mask is data that each lane loads

__global__ void reduced(unsigned *out, const unsigned *in) {
  unsigned value = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffff, value > 3);
  if (value > 3) atomicMax(out, __reduce_max_sync(value, mask));  //~ PTX414?
}

__global__ void converted(unsigned *out, const float *in) {
  unsigned value = (unsigned)in[blockIdx.x * blockDim.x + threadIdx.x];
  out[threadIdx.x] = __reduce_add_sync(value, 0xffffffff);  //~ PTX414
}

__global__ void broadcast(unsigned *out, const unsigned *in) {
  unsigned value = in[threadIdx.x & 31];
  out[threadIdx.x] = __shfl_sync(value, __activemask(), 0);  //~ PTX414?
}

__global__ void matched(unsigned *out, const unsigned *in) {
  __shared__ unsigned values[256];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = __match_any_sync(values[threadIdx.x], 0xffffffff);  //~ PTX414?
}
