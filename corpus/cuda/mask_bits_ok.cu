// ptxcheck-args: -W potential -A conditional
// why: masks of which only some bits are known, and which name all lanes that call as far as that goes

__global__ void cleared_middle(unsigned *out, unsigned m) {
  unsigned lane = threadIdx.x & 31;
  unsigned v = out[threadIdx.x];
  if (lane >= 8) v += __shfl_xor_sync(m & ~0xf0u, v, 1);
  out[threadIdx.x] = v;
}

__global__ void complement(unsigned *out, unsigned q) {
  unsigned m = 0xff0u;
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) == 15) v += __shfl_xor_sync(~m & q, v, 1);
  out[threadIdx.x] = v;
}

__global__ void low_half(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) < 16) v += __any_sync(m & 0xffffu, v);
  out[threadIdx.x] = v;
}

__global__ void high_half(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) < 16) v += __shfl_xor_sync(m >> 16, v, 1);
  out[threadIdx.x] = v;
}

__global__ void byte(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) < 8) v += __shfl_xor_sync((unsigned char)m, v, 1);
  out[threadIdx.x] = v;
}

__global__ void without_another(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  v += __shfl_xor_sync(m & ~(1u << ((threadIdx.x + 1) & 31)), v, 0);
  out[threadIdx.x] = v;
}

__global__ void reversed(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) >= 24) v += __shfl_xor_sync(__brev(m & 0xff), v, 1);
  out[threadIdx.x] = v;
}

__global__ void chosen(unsigned *out, unsigned m, int n) {
  unsigned v = out[threadIdx.x];
  unsigned mask = n > 3 ? m & 0xffu : m & 0xff00u;
  if ((threadIdx.x & 31) == 12) v += __shfl_xor_sync(mask, v, 1);
  out[threadIdx.x] = v;
}

__global__ void absent_named(unsigned *out, unsigned m) {
  unsigned v = out[threadIdx.x];
  if ((threadIdx.x & 31) < 9) v += __shfl_xor_sync(m | 0x100u, v, 1);
  out[threadIdx.x] = v;
}

__global__ void itself(unsigned *out) {
  unsigned v = out[threadIdx.x];
  v += __shfl_sync(1u << (threadIdx.x & 31), v, threadIdx.x & 31);
  __syncwarp(1u << (threadIdx.x & 31));
  out[threadIdx.x] = v;
}

__global__ void itself_unmasked(unsigned *out) {
  if (threadIdx.x < 32) {
    __syncwarp(1u << threadIdx.x);
    out[threadIdx.x] = 1;
  }
}
__global__ void itself_and(unsigned *out, unsigned m) {
  __syncwarp(m | 1u << (threadIdx.x & 31));
  out[threadIdx.x] = 1;
}
