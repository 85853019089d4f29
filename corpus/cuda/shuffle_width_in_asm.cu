// why: a segment operand in inline assembly may be meant as it stands; of a width, an intrinsic makes one that is wrong
// ptxcheck-args: -W potential

__global__ void written_out(int *out) {
  int value = out[threadIdx.x], moved;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x031f, 0xffffffff;" : "=r"(moved) : "r"(value));  //~ PTX405?
  out[threadIdx.x] = moved;
}

__global__ void as_an_operand(int *out) {
  int value = out[threadIdx.x], moved;
  unsigned segments = 0x031f;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, %2, 0xffffffff;" : "=r"(moved) : "r"(value), "r"(segments));  //~ PTX405?
  out[threadIdx.x] = moved;
}

__global__ void intrinsic(int *out) {
  int value = out[threadIdx.x];
  out[threadIdx.x] = __shfl_sync(0xffffffffu, value, 1, 24);  //~ PTX405
}
