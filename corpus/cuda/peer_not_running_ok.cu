// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX711
// why: shared memory of other CTAs of the cluster, which have certainly started and not ended, whatever keeps them

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
DEV void arrive() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
DEV void wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
DEV void arrive_unaligned() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
DEV void wait_unaligned() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
DEV void sync_cluster() {
  arrive();
  wait();
}

__global__ void CLUSTER(4) barrier_at_the_end(int *next, int *out) {
  __shared__ int number;
  if (rank_in_cluster() == 0 && threadIdx.x == 0) number = atomicAdd(next, 1);
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number, 0));
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// Arrival and wait are apart: work goes on in between.
__global__ void CLUSTER(4) split_barrier(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], (rank_in_cluster() + 1) % 4));
  arrive();
  out[blockIdx.x * 128 + threadIdx.x] = got * got;
  wait();
}

// Only CTA 0 waits at the end; those that read and end have arrived by that.
__global__ void CLUSTER(2) owner_waits(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  if (rank_in_cluster() == 0) {
    arrive_unaligned();
    wait_unaligned();
  } else {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], 0));
    out[threadIdx.x] = got;
  }
}

// Another warp of each CTA waits.
__global__ void CLUSTER(2) other_warp_waits(const int *in, int *out) {
  __shared__ int number[32];
  if (threadIdx.x < 32) number[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  sync_cluster();
  if (threadIdx.x < 32) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));
    out[blockIdx.x * 32 + threadIdx.x] = got;
  } else {
    arrive_unaligned();
    wait_unaligned();
  }
}

// The own memory, by its rank.
__global__ void CLUSTER(4) own_memory(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  int got;
  LOAD_THERE(got, mapped(&number[127 - threadIdx.x], rank_in_cluster()));
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// Only CTA 0 accesses CTA 0.
__global__ void CLUSTER(4) first_accesses_itself(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if (rank_in_cluster() == 0) {
    int got;
    LOAD_THERE(got, mapped(&number[127 - threadIdx.x], 0));
    out[threadIdx.x] = got;
  }
}

// The same, mapped before the comparison.
__global__ void CLUSTER(4) mapped_before(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  unsigned there = mapped(&number[127 - threadIdx.x], 0);
  if (rank_in_cluster() == 0) {
    int got;
    LOAD_THERE(got, there);
    out[threadIdx.x] = got;
  }
}

// Any rank: the program knows which.
__global__ void CLUSTER(4) rank_of_the_host(const int *in, int *out, int rank) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], rank));
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// The reader arrives at an mbarrier of the CTA that it has read from, and that CTA waits there.
__global__ void CLUSTER(2) answered_by_mbarrier(const int *in, int *out) {
  __shared__ int number[128];
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(at(&barrier)) : "memory");
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  unsigned partner = rank_in_cluster() ^ 1;
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], partner));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&barrier, partner)) : "memory");
  out[blockIdx.x * 128 + threadIdx.x] = got;
  unsigned is_done = 0;
  while (!is_done)
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is_done) : "r"(at(&barrier)) : "memory");
}

// A number in global memory tells CTA 0 that it may end.
__global__ void CLUSTER(2) answered_in_global_memory(const int *in, int *out, unsigned *answers) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  if (rank_in_cluster() == 1) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], 0));
    out[threadIdx.x] = got;
    __threadfence();
    atomicAdd(&answers[blockIdx.x / 2], 1);
  } else {
    while (*static_cast<volatile unsigned *>(&answers[blockIdx.x / 2]) < 128) {}
  }
}

// What is stored is what the other CTA waits for.
__global__ void CLUSTER(2) stored_signal(int *out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  sync_cluster();
  if (rank_in_cluster() == 1) {
    if (threadIdx.x == 0) STORE_THERE(mapped(const_cast<int *>(&flag), 0), 1);
  } else {
    while (flag == 0) {}
    out[threadIdx.x] = 1;
  }
}

// Rounds, with a barrier in each.
__global__ void CLUSTER(4) rounds(const int *in, int *out, int count) {
  __shared__ int number[128];
  int sum = 0;
  for (int round = 0; round < count; round++) {
    number[threadIdx.x] = in[round * 128 + threadIdx.x];
    sync_cluster();
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));
    sum += got;
    sync_cluster();
  }
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// The barrier at the end is in a function.
__device__ __noinline__ void last_barrier() { sync_cluster(); }
__global__ void CLUSTER(4) barrier_in_function(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  last_barrier();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));
  out[blockIdx.x * 128 + threadIdx.x] = got;
  last_barrier();
}

// Some return at once, before anything is accessed.
__global__ void CLUSTER(4) early_return(const int *in, int *out, int count) {
  __shared__ int number[128];
  if (count == 0) return;
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));
  out[blockIdx.x * 128 + threadIdx.x] = got;
  sync_cluster();
}

// The rank is computed with the number of the CTA and may be the own one.
__global__ void CLUSTER(4) rank_by_data(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  unsigned rank = (rank_in_cluster() + in[blockIdx.x]) % 4;
  if (rank == rank_in_cluster()) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], rank));
    out[threadIdx.x] = got;
  }
}
__global__ void CLUSTER(4) rank_plus_four(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], (rank_in_cluster() + 4) % 4));
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// The parity of the block says which CTA it is.
__global__ void CLUSTER(2) first_by_parity(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if ((blockIdx.x & 1) == 0) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], 0));
    out[threadIdx.x] = got;
  }
}

// The partner's mbarrier, after a barrier of the cluster, and at the end nothing: the partner waits there.
__global__ void CLUSTER(2) arrived_after_barrier(int *out) {
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(at(&barrier)) : "memory");
  sync_cluster();
  unsigned partner = rank_in_cluster() ^ 1;
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&barrier, partner)) : "memory");
  unsigned is_done = 0;
  while (!is_done)
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is_done) : "r"(at(&barrier)) : "memory");
  out[blockIdx.x * 128 + threadIdx.x] = 1;
}

// One barrier in each round, and two buffers; the last barrier is behind the loop.
__global__ void CLUSTER(2) two_buffers(const int *in, int *out, int count) {
  __shared__ int number[2][128];
  int sum = 0;
  for (int round = 0; round < count; round++) {
    number[round & 1][threadIdx.x] = in[round * 128 + threadIdx.x];
    sync_cluster();
    int got;
    LOAD_THERE(got, mapped(&number[round & 1][threadIdx.x], rank_in_cluster() ^ 1));
    sum += got;
  }
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// CTA 0 reads from all others, and they wait.
__global__ void CLUSTER(4) gathered(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  if (rank_in_cluster() == 0) {
    int sum = number[threadIdx.x];
    for (unsigned rank = 1; rank < 4; rank++) {
      int got;
      LOAD_THERE(got, mapped(&number[threadIdx.x], rank));
      sum += got;
    }
    out[threadIdx.x] = sum;
  }
  sync_cluster();
}

// The left neighbour.
__global__ void CLUSTER(8) left_neighbour(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  int got;
  LOAD_THERE(got, mapped(&number[threadIdx.x], (rank_in_cluster() + 7) % 8));
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = got;
}

// The access is in a function, and the barriers in the kernel.
__device__ __noinline__ int from_partner(const int *number) {
  int got;
  LOAD_THERE(got, mapped(number, rank_in_cluster() ^ 1));
  return got;
}
__global__ void CLUSTER(2) access_in_function(const int *in, int *out) {
  __shared__ int number[128];
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = from_partner(&number[threadIdx.x]);
  sync_cluster();
}

// Stores to the partner between two barriers.
__global__ void CLUSTER(2) pushed(const int *in, int *out) {
  __shared__ int number[128];
  sync_cluster();
  STORE_THERE(mapped(&number[threadIdx.x], rank_in_cluster() ^ 1), in[blockIdx.x * 128 + threadIdx.x]);
  sync_cluster();
  out[blockIdx.x * 128 + threadIdx.x] = number[threadIdx.x];
}

// Those who have nothing to read pass the barrier, too.
__global__ void CLUSTER(2) half_reads(const int *in, int *out) {
  __shared__ int number[64];
  if (threadIdx.x < 64) number[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  sync_cluster();
  if (threadIdx.x < 64) {
    int got;
    LOAD_THERE(got, mapped(&number[threadIdx.x], rank_in_cluster() ^ 1));
    out[blockIdx.x * 64 + threadIdx.x] = got;
  }
  sync_cluster();
}
