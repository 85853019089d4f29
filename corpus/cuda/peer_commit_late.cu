// targets: sm_100a
// compilers: nvcc
// ptxcheck-args: -W potential:PTX711
// why: products are committed to mbarriers of both CTAs of a pair, and one of them may have ended when the last ones arrive

#define CLUSTER(n) __cluster_dims__(n, 1, 1)
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define WAIT(barrier, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], " \
               "%1;\n\t@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")
#define COMMIT(barrier, mask)                                                                                      \
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"( \
                   SHARED(barrier)),                                                                               \
               "h"(static_cast<unsigned short>(mask))                                                              \
               : "memory")
#define SYNC_CLUSTER() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")

#define RING(tail)                                                  \
  __shared__ int slot[32];                                          \
  __shared__ alignas(8) unsigned long long full, empty;             \
  if (threadIdx.x == 0) {                                           \
    INIT(&full, 1);                                                 \
    INIT(&empty, 2);                                                \
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); \
  }                                                                 \
  SYNC_CLUSTER();                                                   \
  if (threadIdx.x < 32) {                                           \
    for (int i = 0; i < n; i++) {                                   \
      WAIT(&empty, (i & 1) ^ 1);                                    \
      slot[threadIdx.x] = in[32 * i + threadIdx.x];                 \
      __syncwarp();                                                 \
      if (threadIdx.x == 0) ARRIVE(&full);                          \
    }                                                               \
    tail;                                                           \
  }

// perhaps wrong: the other CTA may have left its loop.
__global__ void CLUSTER(2) committed_last(const int *in, int n) {
  RING()
  else if (threadIdx.x == 32) {
    for (int i = 0; i < n; i++) {
      WAIT(&full, i & 1);
      COMMIT(&empty, 3);  //~[G] PTX711?
    }
  }
}

// right: the loader waits for the last ones, too.
__global__ void CLUSTER(2) waited_for(const int *in, int n) {
  RING(WAIT(&empty, (n & 1) ^ 1))
  else if (threadIdx.x == 32) {
    for (int i = 0; i < n; i++) {
      WAIT(&full, i & 1);
      COMMIT(&empty, 3);
    }
  }
}

// right: a barrier of the cluster.
__global__ void CLUSTER(2) barrier_at_the_end(const int *in, int n) {
  RING()
  else if (threadIdx.x == 32) {
    for (int i = 0; i < n; i++) {
      WAIT(&full, i & 1);
      COMMIT(&empty, 3);
    }
  }
  __syncwarp();
  SYNC_CLUSTER();
}
