// targets: sm_90 sm_120
// why: one role stores, another sends: a proxy fence by the threads that stored, before they arrive, orders the two; where roles take turns, what is sent may be another part, or come before

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

__global__ void fence_before_named_barrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    FENCE();
    NAMED_ARRIVE(1, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(1, 160);
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
  }
}

__global__ void fence_before_mbarrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 128);
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    FENCE();
    ARRIVE(&full);
  } else if (threadIdx.x == 128) {
    WAIT(&full, 0);
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// By the thread that sends.
__global__ void fence_of_the_sender(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    NAMED_ARRIVE(1, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(1, 160);
    if (threadIdx.x == 128) {
      FENCE();
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
  }
}

// The other part was stored and fenced before.
__global__ void other_part(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  if (threadIdx.x < 128) tile[128 + threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = value;
    NAMED_ARRIVE(1, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(1, 160);
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile + 128, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
      out[128] = tile[0];
    }
  }
}

// The role stores for the next round, once what is there has been sent.
__global__ void stores_afterwards(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    NAMED_SYNC(1, 160);
    tile[threadIdx.x] = value + 1;
    NAMED_ARRIVE(2, 160);
  } else if (threadIdx.x < 160) {
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    __syncwarp();
    NAMED_ARRIVE(1, 160);
    NAMED_SYNC(2, 160);
    out[threadIdx.x] = tile[threadIdx.x & 127];
  }
}

// The same by mbarriers: the phase that the sender waits for is one of another warp.
__global__ void other_arrivals(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long turn;
  if (threadIdx.x == 0) INIT(&turn, 32);
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x >= 160 && threadIdx.x < 192) {
    ARRIVE(&turn);
  } else if (threadIdx.x >= 128 && threadIdx.x < 160) {
    if (threadIdx.x == 128) {
      WAIT(&turn, 0);
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    __syncwarp();
    NAMED_ARRIVE(1, 64);
  } else if (threadIdx.x < 32) {
    NAMED_SYNC(1, 64);
    tile[threadIdx.x] = 0;
    ARRIVE(&turn);
  }
}

// A barrier with fewer threads than come to it: which ones it waits for is not known.
__global__ void some_of_them(int *out, int value, int n) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    if (n > 0) tile[threadIdx.x] = value + n;
    FENCE();
    NAMED_ARRIVE(1, 160);
  } else if (threadIdx.x < 160) {
    NAMED_SYNC(1, 160);
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
  }
}

__global__ void leader_of_rows(int *out, int value) {
  __shared__ alignas(128) int rows[8][32];
  rows[threadIdx.y][threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    BULK_STORE(out, rows, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// The first row is sent, and the others store to theirs.
__global__ void first_row(int *out, int value) {
  __shared__ alignas(128) int rows[8][32];
  if (threadIdx.y == 0) {
    rows[0][threadIdx.x] = value;
    FENCE();
  }
  __syncthreads();
  if (threadIdx.y != 0) rows[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    BULK_STORE(out, rows, 128);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
  out[threadIdx.y * 32 + threadIdx.x + 32] = rows[7 - threadIdx.y][threadIdx.x];
}

__global__ void stored_matrices(int *out, int value) {
  __shared__ alignas(1024) int tile[1024];
  unsigned row = SHARED(tile) + (threadIdx.x & 127) * 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(row), "r"(value) : "memory");
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 2048);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

// Of one matrix, eight lanes have rows; the addresses of the others mean nothing.
__global__ void rows_of_eight_lanes(int *out, int value) {
  __shared__ alignas(1024) int tile[256];
  tile[threadIdx.x & 255] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 32) {
    unsigned row = SHARED(tile) + 512 - (threadIdx.x >> 3) * 256 + (threadIdx.x & 7) * 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(value) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 256);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}
