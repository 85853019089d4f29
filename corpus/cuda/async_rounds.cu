// targets: sm_90 sm_120
// ptxcheck-args: -W conditional:async -A PTX421
// why: a wait is right in the first rounds, and passes too early from a certain round on: a witness names the number of rounds

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define NAMED_SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define NAMED_ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

// The phase flips in each round, and the parity in every second one.
__global__ void __launch_bounds__(128) parity_of_stages(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      EXPECT(&full, 512);
      BULK_LOAD(tile, in + k * 128, 512, &full);
    }
    WAIT(&full, (k / 2) & 1);
    out[k * 128 + threadIdx.x] = tile[127 - threadIdx.x];  //~ PTX702?
    __syncthreads();
  }
}

// Each round waits for the first slot, and reads its own.
__global__ void __launch_bounds__(128) first_slot(int *out, const int *in, int n) {
  __shared__ alignas(128) int slots[4][128];
  __shared__ alignas(8) unsigned long long full[4];
  if (threadIdx.x < 4) INIT(&full[threadIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < 4; ++k) {
      EXPECT(&full[k], 512);
      BULK_LOAD(slots[k], in + k * 128, 512, &full[k]);
    }
  }
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    WAIT(&full[0], 0);
    out[k * 128 + threadIdx.x] = slots[k & 3][127 - threadIdx.x];  //~ PTX702?
  }
}

// Two buffers, and two groups that may be under way.
__global__ void __launch_bounds__(128) too_many_groups(int *out, const int *in, int n) {
  __shared__ alignas(128) int tiles[2][128];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) BULK_WAIT_READ(2);
    __syncthreads();
    tiles[i & 1][threadIdx.x] = in[i * 128 + threadIdx.x];  //~ PTX704?
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 128, tiles[i & 1], 512);
      BULK_COMMIT();
    }
  }
}

// A fence in the first round alone.
__global__ void __launch_bounds__(128) fence_in_the_first_round(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[128];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    tile[threadIdx.x] = in[i * 128 + threadIdx.x];
    if (i == 0) FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 128, tile, 512);  //~ PTX701?
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    __syncthreads();
  }
}
