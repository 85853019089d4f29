// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX711
// why: another CTA of the cluster is accessed at the end, if the cluster has several and others come there

#define DEV __device__ __forceinline__
#define CLUSTER(n) __cluster_dims__(n, 1, 1)

DEV unsigned at(const void *p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
DEV unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
DEV unsigned mapped(const void *p, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
  return there;
}
#define LOAD_THERE(value, there) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory")
#define STORE_THERE(there, value) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory")
DEV void sync_cluster() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

// perhaps wrong: the size of the cluster is not stated.
__global__ void any_cluster(int *next, int *out) {
  __shared__ int number;
  if (rank_in_cluster() == 0 && threadIdx.x == 0) number = atomicAdd(next, 1);
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number, 0));  //~ PTX711?
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// perhaps wrong: something loaded decides whether they read.
__global__ void CLUSTER(4) some_read(const int *in, int *out) {
  __shared__ int number;
  if (threadIdx.x == 0) number = in[blockIdx.x];
  sync_cluster();
  if (in[threadIdx.x] > 0) {
    int got;
    LOAD_THERE(got, mapped(&number, 0));  //~ PTX711?
    out[blockIdx.x * 128 + threadIdx.x] = got;
  }
}
