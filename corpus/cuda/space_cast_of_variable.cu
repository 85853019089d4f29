// why: the optimizer sees through the cast of a variable's address; clang drops it and leaves a register that nothing writes
// targets: sm_120

// nvcc's older compiler, for sm_90 and before, crashes on this source now and then, so it is left out.
__device__ int table[64];

#define LOAD_AS_SHARED(value, p) \
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(p))))

__global__ void from_variable(int *out) {
  int value;
  LOAD_AS_SHARED(value, table);  //~[G,nvcc] PTX202
  //~^[clang-O3] PTX210
  *out = value;
}
