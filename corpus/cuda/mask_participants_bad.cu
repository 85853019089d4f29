// why: masks that name lanes that do not come, leave out lanes that do, and sources that are not there (G-2.1, G-2.3)

__global__ void wrong_lanes(int *out) {
  unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index % 16 == 0) {
    __syncwarp(0x80008000u); //~ PTX401 PTX403
    out[index] = 1;
  }
  out[index + 1] = 2;
  if ((blockIdx.x * blockDim.x + threadIdx.x) % 16 == 0) {
    __syncwarp(0x80008000u); //~ PTX401 PTX403
    out[index] = 4;
  }
  out[index + 4] = 2;
  __syncwarp(~1u); //~ PTX403
  out[index + 2] = 3;
}

__global__ void source_outside(int *out, int value) {
  unsigned lane = threadIdx.x & 31;
  int got = value;
  if (lane != 0) {
    got = __shfl_sync(0xfffffffeu, value + lane, 0); //~ PTX404
  }
  out[threadIdx.x] = got;
}

__global__ void full_mask_in_an_arm(int *out) {
  int value = out[threadIdx.x];
  if ((threadIdx.x & 31) < 16) {
    value += __shfl_down_sync(0xffffffffu, value, 8); //~ PTX401
  }
  out[threadIdx.x] = value;
}
