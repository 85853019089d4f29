// targets: sm_90 sm_120
// compilers: nvcc
// why: tensor maps in the parameters of the kernel, in constant and in global memory

#include <cuda.h>

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define TENSOR_LOAD(to, map, x, y, bar)                                                                           \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], " \
               "[%4];" ::"r"(SHARED(to)), "l"(map), "r"(x), "r"(y), "r"(SHARED(bar)) : "memory")

#define BRINGS(map)                                      \
  __shared__ alignas(128) int tile[8][32];               \
  __shared__ alignas(8) unsigned long long full;         \
  if (threadIdx.x == 0) INIT(&full, 1);                  \
  __syncthreads();                                       \
  if (threadIdx.x == 0) {                                \
    EXPECT(&full, sizeof(tile));                         \
    TENSOR_LOAD(tile, map, 0, 0, &full);                 \
  }                                                      \
  WAIT(&full, 0);                                        \
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32]

struct Arguments {
  int rows;
  CUtensorMap map;
};

__global__ void alone(const __grid_constant__ CUtensorMap map, int *out) {
  BRINGS(&map);
}

__global__ void in_a_struct(const __grid_constant__ Arguments arguments, int *out) {
  BRINGS(&arguments.map);
}

__constant__ CUtensorMap in_constant;
__device__ CUtensorMap in_global[4];

__global__ void of_variables(int *out, const CUtensorMap *maps, int which) {
  const CUtensorMap *map = which < 0 ? &in_constant : which < 4 ? &in_global[which] : &maps[which];
  BRINGS(map);
}

__device__ __noinline__ void ask_ahead(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__global__ void through_a_function(const __grid_constant__ CUtensorMap map, int *out) {
  ask_ahead(&map);
  out[threadIdx.x] = 1;
}

// Through a function.
__device__ __noinline__ void bring(int *tile, const CUtensorMap *map, unsigned long long *full) {
  EXPECT(full, 1024);
  TENSOR_LOAD(tile, map, 0, 0, full);
}

__global__ void by_a_function(const __grid_constant__ CUtensorMap map, int *out) {
  __shared__ alignas(128) int tile[8][32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) bring(&tile[0][0], &map, &full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}
