// targets: sm_90 sm_120
// why: shared memory of another CTA of the cluster is accessed before that CTA has certainly started, or when it may have ended

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

// wrong: CTA 0 may have ended when the others read its number.
__global__ void CLUSTER(4) read_last(int *next, int *out) {
  __shared__ int number;
  if (rank_in_cluster() == 0 && threadIdx.x == 0) number = atomicAdd(next, 1);
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number, 0));  //~[nvcc] PTX711
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// wrong: the neighbour's number, in a ring.
__global__ void CLUSTER(4) ring(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], (rank_in_cluster() + 1) % 4));  //~ PTX711
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// wrong: only the other CTA reads.
__global__ void CLUSTER(2) other_reads(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  if (rank_in_cluster() != 0) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], 0));  //~ PTX711
    out[threadIdx.x] = got;
  }
}

// wrong: stores to its partner, which may not have started.
__global__ void CLUSTER(2) stored_first(const int *in, int *out) {
  __shared__ int number[128];
  STORE_THERE(mapped(&number[threadIdx.x], rank_in_cluster() ^ 1), in[blockIdx.x * 128 + threadIdx.x]);  //~ PTX711
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = number[threadIdx.x];
}

// wrong: both.
__global__ void CLUSTER(2) no_barrier(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));  //~ PTX711
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// wrong: a histogram of the cluster in CTA 0; nobody waits before CTA 0 ends.
__global__ void CLUSTER(8) histogram(const int *in, int *out) {
  __shared__ int counts[64];
  if (threadIdx.x < 64) counts[threadIdx.x] = 0;
  sync_cluster();
  asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(mapped(&counts[in[threadIdx.x] & 63], 0)) : "memory");  //~[nvcc] PTX711
  __syncthreads();
  if (rank_in_cluster() == 0 && threadIdx.x < 64) out[threadIdx.x] = counts[threadIdx.x];
}

// wrong: the init of the partner's mbarrier has not been waited for, nor its start.
__global__ void CLUSTER(2) arrived_first(int *out) {
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;\n\tfence.mbarrier_init.release.cluster;" ::"r"(at(&barrier)) : "memory");
  __syncthreads();
  unsigned partner = rank_in_cluster() ^ 1;
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&barrier, partner)) : "memory");  //~ PTX711
  unsigned is_done = 0;
  while (!is_done)
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is_done) : "r"(at(&barrier)) : "memory");
  out[blockIdx.x * 128 + threadIdx.x] = 1;
  sync_cluster();
}
