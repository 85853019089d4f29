// why: the operand of inline assembly is a pointer into another space than the instruction names

__device__ int table[64];

__global__ void shared_as_global(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  int value;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(tile + 3));  //~ PTX201
  *out = value;
}

__global__ void shared_without_conversion(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(tile + 3));  //~ PTX204
  *out = value;
}

__global__ void global_as_shared(int *out) {
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(table + 3));  //~ PTX204
  *out = value;
}

__global__ void offset_as_pointer(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  size_t offset = __cvta_generic_to_shared(tile);
  *out = *reinterpret_cast<volatile int *>(offset);  //~[nvcc,clang-G] PTX203
}
