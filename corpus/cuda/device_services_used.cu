// why: the heap and assembly, for code bases that forbid them
// ptxcheck-args: -W PTX606 -W PTX607
// compilers: nvcc
__global__ void heap(int **rows) {
  rows[threadIdx.x] = new int[16];  //~ PTX607
}

__global__ void assembly(int *out) {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));  //~ PTX606
  out[lane] = 1;
}
