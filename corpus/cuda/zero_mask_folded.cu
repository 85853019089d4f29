// why: a value with itself: masks that are 0 whatever it is

__global__ void folded(unsigned *out, unsigned m) {
  __syncwarp(m ^ m); //~PTX407
  out[threadIdx.x] = 1;
}
__global__ void folded_loaded(unsigned *out) {
  unsigned m = out[threadIdx.x];
  __syncwarp(m ^ m); //~PTX407
  out[threadIdx.x] = 1;
}
__global__ void folded_and(unsigned *out, unsigned m) {
  __syncwarp(m & ~m); //~PTX407
  out[threadIdx.x] = 1;
}
__global__ void folded_minus(unsigned *out, unsigned m) {
  __syncwarp(m - m); //~PTX407
  out[threadIdx.x] = 1;
}
