// targets: sm_90 sm_120
// why: shared memory that a thread has sent is written by others behind a barrier: the barrier waits for the thread, not for its copy

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define NAMED_SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define NAMED_ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

__global__ void leader_of_a_warp(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;  //~ PTX704
}

__global__ void elected_leader(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (__shfl_sync(~0u, threadIdx.x / 32, 0) == 0 && elected()) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  tile[threadIdx.x] = 0;  //~[O3] PTX704
}

__global__ void leader_of_rows(int *out, int value) {
  __shared__ alignas(128) int rows[8][32];
  rows[threadIdx.y][threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    BULK_STORE(out, rows, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  rows[threadIdx.y][threadIdx.x] = 0;  //~[!nvcc-G] PTX704
}

// Filled again by another thread.
__global__ void refilled(int *out, const int *in, int value) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  tile[threadIdx.x] = value;
  if (threadIdx.x == 0) INIT(&full, 1);
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);  //~ PTX704
  }
  WAIT(&full, 0);
  out[256 + threadIdx.x] = tile[threadIdx.x];
}

// One role hands over to another, and has not waited for what it has sent.
__global__ void handed_over_by_named_barrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    NAMED_SYNC(1, 160);
    tile[threadIdx.x] = 0;  //~[O3] PTX704
  } else if (threadIdx.x < 160) {
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
    }
    __syncwarp();
    NAMED_ARRIVE(1, 160);
  }
}

__global__ void handed_over_by_mbarrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long sent;
  if (threadIdx.x == 0) INIT(&sent, 1);
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    WAIT(&sent, 0);
    tile[threadIdx.x] = 0;  //~ PTX704
  } else if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
    ARRIVE(&sent);
  }
}
