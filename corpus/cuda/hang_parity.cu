// targets: sm_90
// ptxcheck-args: -W conditional:PTX421 --launch-block 128
// compilers: nvcc
// why: a parity that is computed from another number of slots than the ring has

#include <cstdint>

using Barrier = uint64_t;

__device__ __forceinline__ uint32_t shared(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void init(Barrier *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(Barrier *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ __forceinline__ void expect(Barrier *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void bring(void *to, const void *from, uint32_t bytes, Barrier *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
               "l"(from), "r"(bytes), "r"(shared(barrier))
               : "memory");
}

#define WAIT(barrier, parity)                                                                                                \
  for (uint32_t is_done = 0; !is_done;)                                                                                          \
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"           \
               : "=r"(is_done)                                                                                               \
               : "r"(shared(barrier)), "r"(parity)                                                                           \
               : "memory")

// The parity of the consumers is that of a ring of four, and there are two slots.
__global__ void parity_of_the_tile(const int *in, int *out, int tiles) {
  __shared__ Barrier full[2], empty[2];
  __shared__ alignas(128) int tile[2][32];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 2; ++slot) init(&full[slot], 1), init(&empty[slot], 96);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      WAIT(&empty[i % 2], (i / 2 + 1) & 1); //~[O3] PTX421?
      expect(&full[i % 2], sizeof tile[0]);
      bring(tile[i % 2], in + 32 * i, sizeof tile[0], &full[i % 2]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      WAIT(&full[i % 2], (i / 4) & 1); //~[G] PTX421?
      sum += tile[i % 2][threadIdx.x % 32];
      arrive(&empty[i % 2]);
    }
    out[threadIdx.x] = sum;
  }
}
