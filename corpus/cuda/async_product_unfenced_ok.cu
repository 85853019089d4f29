// targets: sm_100a
// why: a tile that ordinary stores have widened is fenced, and read by a matrix product

#include <cuda_fp16.h>

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define DESCRIPTOR(p) ((static_cast<unsigned long long>(SHARED(p) & 0x3ffff) >> 4) | 1ull << 46 | 8ull << 16 | 64ull << 32)
#define PRODUCT(to, left, right, kind)                                                                              \
  asm volatile(                                                                                                     \
      "{ .reg .pred adds; setp.ne.b32 adds, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds; }" ::"r"( \
          to), "l"(left), "l"(right), "r"(kind) : "memory")
#define PRODUCT_ARRIVES(bar)                                                                                   \
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(SHARED(bar)) \
               : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define ALLOCATE(slot, columns)                                                             \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "r"(columns) \
               : "memory")
#define FREE(address, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory")

__global__ void __launch_bounds__(128) widened(float *out, const signed char *left, const signed char *right) {
  __shared__ alignas(1024) __half a[128 * 16], b[64 * 16];
  __shared__ alignas(8) unsigned long long done;
  __shared__ unsigned accumulator;
  if (threadIdx.x < 32) ALLOCATE(&accumulator, 64);
  if (threadIdx.x == 0) INIT(&done, 1);
  for (int i = threadIdx.x; i < 128 * 16; i += 128) a[i] = __half(left[i]);
  for (int i = threadIdx.x; i < 64 * 16; i += 128) b[i] = __half(right[i]);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    PRODUCT(accumulator, DESCRIPTOR(a), DESCRIPTOR(b), 0x8100490);
    PRODUCT_ARRIVES(&done);
  }
  WAIT(&done, 0);
  float value;
  asm volatile("tcgen05.fence::after_thread_sync;\n\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n\t"
               "tcgen05.wait::ld.sync.aligned;" : "=f"(value) : "r"(accumulator + (threadIdx.x / 32 << 21)) : "memory");
  out[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < 32) FREE(accumulator, 64);
}
