// targets: sm_90 sm_120
// why: sizes, counts and alignments at the limits of what the instructions allow

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

__global__ void least_size(int *out, const int *in) {
  __shared__ alignas(16) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 16);
    BULK_LOAD(tile + 4, in, 16, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Rounded up in the kernel, and as the host says.
__global__ void rounded(int *out, const int *in, int count) {
  extern __shared__ __align__(16) int pool[];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    unsigned bytes = (count * 4 + 15) / 16 * 16;
    INIT(&full, 1);
    EXPECT(&full, bytes);
    BULK_LOAD(pool + count % 7 * 4, in, bytes, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  out[threadIdx.x] = pool[threadIdx.x];
}

__global__ void most_arrivals(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, (1 << 20) - 1);
  __syncthreads();
  ARRIVE(&all);
  out[threadIdx.x] = 1;
}

// The tail of an array is filled with zeros, all of it where there is nothing.
__global__ void tail(int *out, const int *in, int count) {
  __shared__ int tile[256];
  COPY_PART(&tile[threadIdx.x], in + threadIdx.x, threadIdx.x < count ? 4 : 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// An mbarrier of 8 bytes in a struct of which nobody says more.
struct Stage {
  int tile[64];
  unsigned long long full, empty;
};
__global__ void in_a_struct(int *out) {
  __shared__ Stage stages[2];
  if (threadIdx.x < 2) INIT(&stages[threadIdx.x].empty, blockDim.x);
  __syncthreads();
  ARRIVE(&stages[1].empty);
  WAIT(&stages[1].empty, 0);
  out[threadIdx.x] = 1;
}
