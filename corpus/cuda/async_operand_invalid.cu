// targets: sm_90 sm_120
// why: sizes, counts and alignments that the instructions forbid, in registers, where ptxas does not look

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

#define COPY_PART(to, from, bytes)                                                                                     \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n\tcp.async.wait_all;" ::"r"(SHARED(to)), \
               "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define ARRIVE_TIMES(bar, count) \
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")

__global__ void odd_size(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 20);
    BULK_LOAD(tile, in, 20, &full);  //~ PTX707
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void odd_place(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 64);
    BULK_LOAD(tile + 2, in, 64, &full);  //~[!ir-G] PTX707
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void odd_source(int *out) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile + 1, 64);  //~[!ir-G] PTX707
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}

__global__ void nobody_arrives(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 0);  //~ PTX707
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void too_many_arrive(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 1 << 20);  //~ PTX707
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void none_arrives(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 1);
  __syncthreads();
  if (threadIdx.x == 0) ARRIVE_TIMES(&all, 0);  //~ PTX707
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void odd_barrier(int *out) {
  __shared__ alignas(8) unsigned long long bars[2];
  unsigned *half = reinterpret_cast<unsigned *>(bars) + 1;
  if (threadIdx.x == 0) INIT(half, blockDim.x);  //~[!ir-G] PTX707
  __syncthreads();
  ARRIVE(half);  //~[!ir-G] PTX707
  out[threadIdx.x] = 1;
}

__global__ void more_than_the_copy(int *out, const int *in) {
  __shared__ int tile[256];
  COPY_PART(&tile[threadIdx.x], in + threadIdx.x, 8);  //~ PTX707
  out[threadIdx.x] = tile[threadIdx.x];
}
