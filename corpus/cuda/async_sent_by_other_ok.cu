// targets: sm_90 sm_120
// why: shared memory that a thread has sent is written by others after that thread has waited for its copy, or where the copy does not read

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define NAMED_SYNC(number, count) asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(count) : "memory")
#define NAMED_ARRIVE(number, count) asm volatile("bar.arrive %0, %1;" ::"n"(number), "n"(count) : "memory")

__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

__global__ void waited_for(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
  __syncthreads();
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;
}

// The wait comes between two barriers, and the write after the second one.
__global__ void two_barriers(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  out[512 + threadIdx.x] = tile[threadIdx.x & 127];
  if (threadIdx.x == 128) BULK_WAIT_READ(0);
  __syncthreads();
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;
}

// The same with a barrier of the warps that write, and the one that sends.
__global__ void named_barrier_between(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x == 128) BULK_WAIT_READ(0);
  if (threadIdx.x >= 128 && threadIdx.x < 160) NAMED_ARRIVE(1, 160);
  if (threadIdx.x < 128) {
    NAMED_SYNC(1, 160);
    tile[threadIdx.x] = 0;
  }
}

// With an mbarrier.
__global__ void mbarrier_between(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long read;
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  if (threadIdx.x == 0) INIT(&read, 1);
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_WAIT_READ(0);
    ARRIVE(&read);
  }
  WAIT(&read, 0);
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;
}

// With a flag.
__global__ void flag_between(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ volatile int is_read;
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  if (threadIdx.x == 0) is_read = 0;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_WAIT_READ(0);
    __threadfence_block();
    is_read = 1;
  }
  while (is_read == 0) {}
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;
}

__device__ __noinline__ void wait_there() {
  if (threadIdx.x == 128) BULK_WAIT_READ(0);
  __syncthreads();
}

__global__ void wait_in_a_function(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  wait_there();
  if (threadIdx.x < 128) tile[threadIdx.x] = 0;
}

// The other half.
__global__ void other_half(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x < 128) tile[128 + threadIdx.x] = 0;
}

// Other threads than those that might write there.
__global__ void other_warps(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x >= 128) tile[threadIdx.x] = 0;
}

// Two stages: the one that is written was sent a round before, and one group may be under way.
__global__ void stages(int *out, const int *in, int n) {
  __shared__ alignas(128) int tiles[2][256];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) BULK_WAIT_READ(1);
    __syncthreads();
    tiles[i & 1][threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tiles[i & 1], 1024);
      BULK_COMMIT();
    }
  }
}

// The wait for the round before is at the top of the next one.
__global__ void wait_in_the_next_round(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) BULK_WAIT_READ(0);
    __syncthreads();
    tile[threadIdx.x] = in[i * 256 + threadIdx.x];
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, tile, 1024);
      BULK_COMMIT();
    }
    __syncthreads();
    out[(n + i) * 256 + threadIdx.x] = tile[255 - threadIdx.x];
  }
}

// The elected thread sends, and waits.
__global__ void elected_leader(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 32 && elected()) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
  __syncthreads();
  tile[threadIdx.x] = 0;
}

// Only where nothing was sent.
__global__ void one_or_the_other(int *out, int value, int n) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0 && n > 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  if (n <= 0) tile[threadIdx.x] = 0;
}

// The thread that sends is the only one that writes, after its wait.
__global__ void own_write(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_WAIT_READ(0);
    tile[0] = 0;
  }
}

// A barrier that not all threads come to alike: the sender waits in its arm.
__global__ void barriers_in_arms(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 1024);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    asm volatile("barrier.sync 0;" ::: "memory");
  } else {
    asm volatile("barrier.sync 0;" ::: "memory");
    tile[threadIdx.x] = 0;
  }
}

// In shared memory, and read only.
__global__ void read_only(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  out[256 + threadIdx.x] = tile[255 - threadIdx.x];
}

// One role hands over to another, once what it has sent was read.
__global__ void handed_over_by_named_barrier(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    NAMED_SYNC(2, 160);
    tile[threadIdx.x] = 0;
  } else if (threadIdx.x < 160) {
    if (threadIdx.x == 128) {
      BULK_STORE(out, tile, 512);
      BULK_COMMIT();
      BULK_WAIT_READ(0);
    }
    __syncwarp();
    NAMED_ARRIVE(2, 160);
  }
}

// It hands over twice, and the write comes after the second time.
__global__ void handed_over_twice(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long started, sent;
  if (threadIdx.x == 0) {
    INIT(&started, 1);
    INIT(&sent, 1);
  }
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    WAIT(&started, 0);
    out[256 + threadIdx.x] = tile[127 - threadIdx.x];
    WAIT(&sent, 0);
    tile[threadIdx.x] = 0;
  } else if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
    ARRIVE(&started);
    BULK_WAIT_READ(0);
    ARRIVE(&sent);
  }
}

// A phase of two arrivals, the second one after the wait.
__global__ void in_two_arrivals(int *out, int value) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) unsigned long long sent;
  if (threadIdx.x == 0) INIT(&sent, 2);
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 128) {
    WAIT(&sent, 0);
    tile[threadIdx.x] = 0;
  } else if (threadIdx.x == 128) {
    BULK_STORE(out, tile, 512);
    BULK_COMMIT();
    ARRIVE(&sent);
    BULK_WAIT_READ(0);
    ARRIVE(&sent);
  }
}

#define PEER(to, from, rank) asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(SHARED(from)), "r"(rank))

// What is sent to another CTA is known to be there by its answer, which the writers wait for.
__global__ void __cluster_dims__(2) answered(int *out, int value) {
  __shared__ alignas(128) int tile[128], mail[128];
  __shared__ alignas(8) unsigned long long full, taken, started;
  unsigned rank, there, its_full, its_taken;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&taken, 1);
    INIT(&started, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < 128) tile[threadIdx.x] = value;
  FENCE();
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  PEER(there, mail, rank ^ 1);
  PEER(its_full, &full, rank ^ 1);
  PEER(its_taken, &taken, rank ^ 1);
  if (threadIdx.x == 128) {
    EXPECT(&full, 512);
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(there),
                 "r"(SHARED(tile)), "r"(its_full) : "memory");
    ARRIVE(&started);
  } else if (threadIdx.x == 160) {
    WAIT(&full, 0);
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(its_taken) : "memory");
  } else if (threadIdx.x < 128) {
    WAIT(&taken, 0);
    WAIT(&started, 0);
    tile[threadIdx.x] = 0;
  }
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  out[threadIdx.x & 127] = mail[threadIdx.x & 127];
}
