// why: a literal 0 as member mask names no lane, so the calling lane is not in it, whichever collective it is

__global__ void sync_nobody(int *out) {
  out[threadIdx.x] = 1;
  __syncwarp(0);  //~ PTX407
  out[threadIdx.x ^ 1] += 2;
}

__global__ void broadcast_to_nobody(int *out, int value) {
  value += threadIdx.x;
  out[threadIdx.x] = __shfl_sync(0, value, 3);  //~ PTX407
}

__global__ void count_nobody(unsigned *out, const int *in) {
  out[threadIdx.x] = __ballot_sync(0, in[threadIdx.x] > 0);  //~ PTX407
}

__global__ void match_nobody(unsigned *out, const int *in) {
  out[threadIdx.x] = __match_any_sync(0, in[threadIdx.x]);  //~ PTX407
}
