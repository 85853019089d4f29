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
  put(p, tile[threadIdx.x]);
}
