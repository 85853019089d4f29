// targets: sm_90 sm_120
// why: shared memory that holds an mbarrier is written as data, and nothing has invalidated the mbarrier

#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void scratch_afterwards(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(16) unsigned char scratch[1024];
  if (threadIdx.x == 0) {
    INIT(scratch, 1);
    EXPECT(scratch, 1024);
    BULK_LOAD(tile, in, 1024, scratch);
  }
  __syncthreads();
  WAIT(scratch, 0);
  int value = tile[threadIdx.x];
  __syncthreads();
  reinterpret_cast<int *>(scratch)[threadIdx.x] = value;  //~ PTX705
  __syncthreads();
  out[threadIdx.x] = reinterpret_cast<int *>(scratch)[255 - threadIdx.x];
}

// In each round again.
__global__ void in_rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(16) unsigned char scratch[1024];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) {
      INIT(scratch, 1);
      EXPECT(scratch, 1024);
      BULK_LOAD(tile, in + i * 256, 1024, scratch);
    }
    __syncthreads();
    WAIT(scratch, 0);
    int value = tile[threadIdx.x];
    __syncthreads();
    reinterpret_cast<int *>(scratch)[threadIdx.x] = value;  //~ PTX705
    __syncthreads();
    out[i * 256 + threadIdx.x] = reinterpret_cast<int *>(scratch)[255 - threadIdx.x];
    __syncthreads();
  }
}

// By a copy.
__global__ void copied_over(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&tile[64], blockDim.x);
  }
  __syncthreads();
  ARRIVE(&tile[64]);
  WAIT(&tile[64], 0);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);  //~ PTX705
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}
