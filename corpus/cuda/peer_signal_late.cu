// targets: sm_90
// ptxcheck-args: -W potential:PTX711
// why: an arrival at an mbarrier of another CTA, which may have ended: nobody there waits for it, or not for the last ones

#define DEV __device__ __forceinline__
#define CLUSTER(n) __cluster_dims__(n, 1, 1)
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(barrier, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define WAIT(barrier, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], " \
               "%1;\n\t@!done bra again;\n\t}" ::"r"(SHARED(barrier)), "r"(parity) : "memory")
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

// wrong: the partner is told that all is done, and does not wait for that.
__global__ void CLUSTER(2) nobody_waits(int *out, const int *in) {
  __shared__ alignas(8) unsigned long long done;
  if (threadIdx.x == 0) {
    INIT(&done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) ARRIVE_THERE(&done, rank_in_cluster() ^ 1);  //~ PTX711
}

// perhaps wrong: the slots of the last rounds are handed back, and nobody takes them.
__global__ void CLUSTER(2) last_slots(int *out, const int *in, int n) {
  __shared__ int slot[32];
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync_cluster();
  if (threadIdx.x < 32) {
    for (int i = 0; i < n; i++) {
      WAIT(&empty, (i & 1) ^ 1);
      slot[threadIdx.x] = in[32 * i + threadIdx.x];
      __syncwarp();
      if (threadIdx.x == 0) ARRIVE(&full);
    }
  } else if (threadIdx.x < 64) {
    for (int i = 0; i < n; i++) {
      WAIT(&full, i & 1);
      out[(2 * i + blockIdx.x) * 32 + threadIdx.x - 32] = slot[threadIdx.x - 32];
      __syncwarp();
      if (threadIdx.x == 32) ARRIVE_THERE(&empty, rank_in_cluster() ^ 1);  //~[!nvcc-O3] PTX711?
    }
  }
}
