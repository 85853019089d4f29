// targets: sm_90 sm_120
// why: one role stores, another sends what it stored, and no proxy fence lies between: a named barrier, an mbarrier, a barrier of the cluster make threads wait, and order nothing for the async proxy

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define NAMED_SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define NAMED_ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

__global__ void by_named_barrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    NAMED_ARRIVE(1, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(1, 160);
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);  //~ PTX701
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
  }
}

__global__ void by_mbarrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 128);
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    ARRIVE(&full);
  } else if (threadIdx.x == 128) {
    WAIT(&full, 0);
    BULK_STORE(out, tile, 512);  //~ PTX701
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// A fence for what another thread stored elsewhere does not help.
__global__ void fence_of_another(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ int other;
  if (threadIdx.x == 0) {
    other = value;
    FENCE();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value + other;
    NAMED_ARRIVE(2, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(2, 160);
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);  //~ PTX701
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
  }
}

__global__ void leader_of_rows(int *out, int value) {
  __shared__ alignas(128) int rows[8][32];
  rows[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    BULK_STORE(out, rows, 1024);  //~ PTX701
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// Matrices that all lanes store.
__global__ void stored_matrices(int *out, int value) {
  __shared__ alignas(1024) int tile[1024];
  unsigned row = SHARED(tile) + (threadIdx.x & 127) * 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(row), "r"(value) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 2048);  //~ PTX701
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}
