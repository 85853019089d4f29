// why: __cvta_generic_to_shared takes pointers to shared memory; these point to global memory

__device__ int table[64];

__global__ void from_parameter(int *p, int *out) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(p + threadIdx.x));  //~ PTX202
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  *out = value;
}

__device__ __noinline__ void put(int *p, int value) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(p));  //~ PTX202
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__global__ void through_a_function(int *p) {
  __shared__ int tile[64];
  put(tile + threadIdx.x, 1);
  put(p, tile[0]);
}

// Where the optimizer sees through the cast, LLVM drops it and leaves a register that nothing writes.
#define LOAD_AS_SHARED(value, p) \
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(p))))

__global__ void from_variable(int *out) {
  int value;
  LOAD_AS_SHARED(value, table);  //~[G,nvcc-sm_120] PTX202
  //~^[sm_75-O3,sm_90-O3,clang-O3] PTX210
  *out = value;
}
