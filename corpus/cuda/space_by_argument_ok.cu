// why: one function for several spaces: what it does in the cases that its callers do not pick never happens

enum class Where { constant, shared, generic };

__constant__ int limits[32];
__device__ int table[32];

__device__ __noinline__ int read(const int *from, Where where) {
  int value = 0;
  switch (where) {
    case Where::constant:
      asm volatile("ld.const.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_constant(from)));
      break;
    case Where::shared:
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_shared(from)));
      break;
    case Where::generic:
      asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(from));
      break;
  }
  return value;
}

__device__ __noinline__ int read_first(const int *from, Where where) {
  return read(from, where);
}

__global__ void sum(int *out) {
  __shared__ int tile[32];
  tile[threadIdx.x & 31] = table[threadIdx.x & 31];
  __syncthreads();
  out[threadIdx.x] = read(tile, Where::shared) + read(limits, Where::constant) + read(table, Where::generic) +
                     read_first(tile, Where::generic) + read_first(table, Where::generic);
}
