// why: the width of a shuffle must be a power of two up to 32; the header folds any other number into operand c as it is

__global__ void twelve(int *out) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, out[threadIdx.x], 1, 12);  //~ PTX405
}

__global__ void twenty_four(int *out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, out[threadIdx.x], 1, 24);  //~ PTX405
}

__global__ void thirty_three(int *out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, out[threadIdx.x], 1, 33);  //~ PTX405
}

__global__ void zero(int *out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, out[threadIdx.x], 1, 0);  //~ PTX405
}

__global__ void sixty_four(int *out) {
  out[threadIdx.x] = __shfl_up_sync(0xffffffffu, out[threadIdx.x], 1, 64);  //~ PTX405
}
