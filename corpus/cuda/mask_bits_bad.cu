// why: masks of which only some bits are known: those leave out a lane that calls, or name one that does not

__global__ void cleared_middle(unsigned *out, unsigned m) {
  unsigned lane = threadIdx.x & 31;
  unsigned v = out[threadIdx.x];
  if (lane >= 4 && lane < 8) v += __shfl_xor_sync(m & ~0xf0u, v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void complement(unsigned *out, unsigned q) {
  unsigned m = 0xff0u;
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) == 5) v += __shfl_xor_sync(~m & q, v, 1); //~ PTX403 PTX404
  out[threadIdx.x] = v;
}

__global__ void low_half(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __any_sync(m & 0xffffu, v); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void high_half(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync(m >> 16, v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void byte(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync((unsigned char)m, v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void without_itself(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync(m & ~(1u << (threadIdx.x & 31)), v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void reversed(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync(__brev(m & 0xff), v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void chosen(unsigned *out, unsigned m, int n) {
  unsigned v = out[threadIdx.x];
  unsigned mask = n > 3 ? m & 0xffu : m & 0xff00u;
  if ((threadIdx.x & 31) == 20) v += __shfl_xor_sync(mask, v, 1); //~ PTX403 PTX404
  out[threadIdx.x] = v;
}

__global__ void chosen_by_lane(unsigned *out, unsigned m, unsigned k) {
  unsigned v = out[threadIdx.x];
  unsigned mask = v > 3 ? m & 0xf00u : k & 0x0ff0u;
  if ((threadIdx.x & 31) < 2) v += __shfl_xor_sync(mask, v, 1); //~ PTX403
  out[threadIdx.x] = v;
}

__global__ void absent_named(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) < 8) v += __shfl_xor_sync(m | 0x100u, v, 1); //~ PTX401
  out[threadIdx.x] = v;
}

__global__ void loaded_narrow(unsigned *out, const unsigned short *in) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync(in[blockIdx.x], v, 1); //~ PTX403
  out[threadIdx.x] = v;
}
