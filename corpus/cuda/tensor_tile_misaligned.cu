// targets: sm_90 sm_120
// compilers: nvcc
// why: a tensor copy needs a tile in shared memory at a multiple of 128 bytes

#include <cuda.h>

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define TENSOR_LOAD(to, map, x, bar)                                                                             \
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], " \
               "[%3];" ::"r"(SHARED(to)), "l"(map), "r"(x), "r"(SHARED(bar)) : "memory")

__global__ void at_64(const __grid_constant__ CUtensorMap map, int *out) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 64);
    TENSOR_LOAD(tile + 16, &map, 0, &full);  //~ PTX707
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}
