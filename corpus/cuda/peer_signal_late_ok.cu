// targets: sm_90
// ptxcheck-args: -W potential:PTX711
// why: arrivals at mbarriers of other CTAs, which wait for them, for the last ones, too, or for the cluster

#define DEV __device__ __forceinline__
#define CLUSTER(n) __cluster_dims__(n, 1, 1)
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define WAIT(barrier, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], " \
               "%1;\n\t@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
DEV unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
#define ARRIVE_THERE(barrier, rank)                                                                                     \
  asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"                                   \
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(SHARED(barrier)), "r"(rank) \
               : "memory")
DEV void sync_cluster() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

__global__ void CLUSTER(2) partner_waits(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 1);
    INIT_FENCE();
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) {
    ARRIVE_THERE(&done, rank_in_cluster() ^ 1);
    WAIT(&done, 0);
  }
}

__global__ void CLUSTER(2) barrier_at_the_end(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 1);
    INIT_FENCE();
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) ARRIVE_THERE(&done, rank_in_cluster() ^ 1);
  sync_cluster();
}

// All tell the first CTA, which waits for all.
__global__ void CLUSTER(4) first_waits(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 4);
    INIT_FENCE();
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) {
    ARRIVE_THERE(&done, 0);
    if (rank_in_cluster() == 0) WAIT(&done, 0);
  }
}

// In each round, both wait for the other one.
__global__ void CLUSTER(2) in_rounds(int *out, const int *in, int n) {
  __shared__ alignas(8) unsigned long long round;
  if (threadIdx.x == 0) {
    INIT(&round, 128);
    INIT_FENCE();
  }
  sync_cluster();
  for (int i = 0; i < n; i++) {
    out[(2 * i + blockIdx.x) * 128 + threadIdx.x] = in[threadIdx.x + i];
    ARRIVE_THERE(&round, rank_in_cluster() ^ 1);
    WAIT(&round, i & 1);
  }
}

// A loader waits for the slots of the last rounds, too.
#define RING(tail)                                                                       \
  __shared__ int slot[32];                                                               \
  __shared__ alignas(8) unsigned long long full, empty;                                  \
  if (threadIdx.x == 0) {                                                                \
    INIT(&full, 1);                                                                      \
    INIT(&empty, 1);                                                                     \
    INIT_FENCE();                                                                        \
  }                                                                                      \
  sync_cluster();                                                                        \
  if (threadIdx.x < 32) {                                                                \
    for (int i = 0; i < n; i++) {                                                        \
      WAIT(&empty, (i & 1) ^ 1);                                                         \
      slot[threadIdx.x] = in[32 * i + threadIdx.x];                                      \
      __syncwarp();                                                                      \
      if (threadIdx.x == 0) ARRIVE(&full);                                               \
    }                                                                                    \
    tail;                                                                                \
  } else if (threadIdx.x < 64) {                                                         \
    for (int i = 0; i < n; i++) {                                                        \
      WAIT(&full, i & 1);                                                                \
      out[(2 * i + blockIdx.x) * 32 + threadIdx.x - 32] = slot[threadIdx.x - 32];        \
      __syncwarp();                                                                      \
      if (threadIdx.x == 32) ARRIVE_THERE(&empty, rank_in_cluster() ^ 1);                \
    }                                                                                    \
  }

__global__ void CLUSTER(2) waits_for_the_last_slots(int *out, const int *in, int n) {
  RING(WAIT(&empty, (n & 1) ^ 1))
}

__global__ void CLUSTER(2) barrier_after_the_roles(int *out, const int *in, int n) {
  RING()
  __syncwarp();
  sync_cluster();
}

// The partner is told once more, and waits for that.
__global__ void CLUSTER(2) told_at_last(int *out, const int *in, int n) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) INIT(&done, 1);
  RING()
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_THERE(&done, rank_in_cluster() ^ 1);
    WAIT(&done, 0);
  }
}

// The own mbarrier, mapped.
__global__ void CLUSTER(2) own_mbarrier(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 1);
    INIT_FENCE();
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) ARRIVE_THERE(&done, rank_in_cluster());
}

// A number in global memory says when the partner may end.
__global__ void CLUSTER(2) told_in_global_memory(int *out, const int *in, unsigned *ended) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 1);
    INIT_FENCE();
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) {
    ARRIVE_THERE(&done, rank_in_cluster() ^ 1);
    __threadfence();
    atomicAdd(&ended[blockIdx.x / 2], 1);
    while (atomicAdd(&ended[blockIdx.x / 2], 0) < 2) {}
  }
}
