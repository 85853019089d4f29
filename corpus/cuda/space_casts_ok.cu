// why: casts to where the pointers point, and behind tests where two can come
// ptxcheck-args: -W potential

__device__ __forceinline__ unsigned shared_address(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__global__ void own_tile(int *out) {
  __shared__ int tile[64];
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(tile + threadIdx.x)), "r"(1) : "memory");
  __syncthreads();
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(tile)));
  size_t offset = __cvta_generic_to_shared(tile);
  *out = value + *static_cast<int *>(__cvta_shared_to_generic(offset));
}

__device__ __noinline__ int read(const int *p) {
  if (__isShared(p)) {
    int value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(p)));
    return value;
  }
  if (__isGlobal(p)) {
    int value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(p)));
    return value;
  }
  return *p;
}

__global__ void either(int *out, const int *in, bool from_tile) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int *source = from_tile ? tile : in;
  *out = source[3] + read(source) + read(tile) + read(in);
}

__global__ void guarded(int *out, const int *in, bool from_tile) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int *source = from_tile ? tile : in;
  if (__isShared(source)) {
    int value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(source)));
    *out = value;
  } else {
    *out = *source;
  }
}
