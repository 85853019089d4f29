// targets: sm_90a
// why: the operands of a matrix product of a warp group are written by ordinary stores, and no fence is between the proxies

#include <cuda_fp16.h>

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define DESCRIPTOR(p) ((static_cast<unsigned long long>(SHARED(p) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32)

#define PRODUCT(fence)                                                                                             \
  __shared__ alignas(1024) __half a[64 * 16];                                                                      \
  __shared__ alignas(1024) __half b[8 * 16];                                                                       \
  for (int i = threadIdx.x; i < 64 * 16; i += 128) a[i] = __half(left[i]);                                         \
  b[threadIdx.x] = __half(right[threadIdx.x]);                                                                     \
  fence;                                                                                                           \
  __syncthreads();                                                                                                 \
  float c[4] = {};                                                                                                 \
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                          \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"        \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(DESCRIPTOR(a)), "l"(DESCRIPTOR(b)) : "memory"); \
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");               \
  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = c[i]

__global__ void __launch_bounds__(128) widened(float *out, const signed char *left, const signed char *right) {
  PRODUCT();  //~ PTX701
}
