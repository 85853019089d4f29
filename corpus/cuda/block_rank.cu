// ptxcheck-args: -W potential
// why: masks by the number of the thread in blocks of two and three dimensions

__device__ unsigned rank3() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
__device__ unsigned rank2() { return threadIdx.y * blockDim.x + threadIdx.x; }

__global__ void right3(unsigned *out) {
  unsigned rank = rank3(), lane = rank & 31;
  if (lane < 16) out[rank] = __any_sync(0xffffu, lane);
}

__global__ void wrong3(unsigned *out) {
  unsigned rank = rank3(), lane = rank & 31;
  if (lane < 16) out[rank] = __any_sync(0xffffffffu, lane); //~ PTX401
  else out[rank] = 3;
}

__global__ void right2(unsigned *out) {
  unsigned rank = rank2(), lane = rank % 32;
  if (lane < 16) out[rank] = __any_sync(0xffffu, lane);
}

__global__ void wrong2(unsigned *out) {
  unsigned rank = rank2(), lane = rank % 32;
  if (lane < 16) out[rank] = __any_sync(0xffffffffu, lane); //~ PTX401
  else out[rank] = 3;
}

__global__ void of_a_warp(unsigned *out) {
  unsigned rank = rank3(), warp = rank >> 5;
  if (warp == 0) out[rank] = __any_sync(0xffffffffu, rank);
}

__global__ void of_a_warp_wrong(unsigned *out) {
  unsigned rank = rank3(), warp = rank >> 5;
  if (warp == 0) out[rank] = __any_sync(0xffffu, rank); //~ PTX403
}

__global__ void first_of_all(unsigned *out, unsigned *in) {
  unsigned rank = rank3();
  if (rank < 32) out[rank] = __any_sync(0xffffffffu, in[rank]);
}

__global__ void first_of_all_wrong(unsigned *out, unsigned *in) {
  unsigned rank = rank3();
  if (rank < 16) out[rank] = __any_sync(0xffffffffu, in[rank]); //~ PTX401
  else out[rank] = 1;
}

__global__ void mask_by_rank(unsigned *out) {
  unsigned rank = rank2(), lane = rank & 31;
  out[rank] = __any_sync(0xffu << (lane & 24), lane);
}

__global__ void mask_by_rank_wrong(unsigned *out) {
  unsigned rank = rank2(), lane = rank & 31;
  out[rank] = __any_sync(0xffu << (lane & 16), lane); //~ PTX403
}
