// targets: sm_90 sm_120
// why: another thread than those that store and send has the fence, and barriers for some warps put it in between

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")
#define SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")
#define ARRIVE(id, threads) asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory")

// Warp 3 waits for those who store, fences, and lets warp 0 go on. Its code stands in front of theirs.
__global__ void fence_stands_above(int *out, int value) {
  __shared__ alignas(128) int tile[96];
  int warp = threadIdx.x / 32;
  if (warp == 3) {
    SYNC(1, 128);
    FENCE();
    ARRIVE(2, 64);
  }
  if (warp < 3) {
    tile[threadIdx.x] = value;
    ARRIVE(1, 128);
    if (warp == 0) {
      SYNC(2, 64);
      if (threadIdx.x == 0) {
        BULK_STORE(out, tile, 384);
        BULK_DONE();
      }
    }
  }
}

// The fence stands below the copy, and the other warps come to it first.
__global__ void fence_stands_below(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x % 128] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    SYNC(3, 64);
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 512);
      BULK_DONE();
    }
  }
  FENCE();
  if (threadIdx.x >= 96 && threadIdx.x < 128) ARRIVE(3, 64);
}

// A barrier of all threads in two places: warp 0 waits in one, the others behind their fence in the other.
__global__ void one_barrier_in_two_places(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x % 128] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 0;" ::: "memory");
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 512);
      BULK_DONE();
    }
  }
  FENCE();
  if (threadIdx.x >= 32) asm volatile("barrier.sync 0;" ::: "memory");
}

// The same within a warp.
__global__ void lanes_meet_in_two_places(int *out, int value) {
  __shared__ alignas(128) int tile[32];
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) {
    tile[0] = value;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    BULK_STORE(out, tile, 128);
    BULK_DONE();
  } else {
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  }
  FENCE();
  if (threadIdx.x != 0) asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
