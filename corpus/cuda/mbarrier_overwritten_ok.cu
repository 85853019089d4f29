// targets: sm_90 sm_120
// why: shared memory is data before it is an mbarrier, or after the mbarrier was invalidated; or data beside mbarriers is written

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
#define INVALIDATE(bar) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(SHARED(bar)) : "memory")

__global__ void invalidated(int *out) {
  __shared__ alignas(16) unsigned char scratch[1024];
  if (threadIdx.x == 0) INIT(scratch, blockDim.x);
  __syncthreads();
  ARRIVE(scratch);
  WAIT(scratch, 0);
  __syncthreads();
  if (threadIdx.x == 0) INVALIDATE(scratch);
  __syncthreads();
  reinterpret_cast<int *>(scratch)[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = reinterpret_cast<int *>(scratch)[255 - threadIdx.x];
}

__global__ void data_before(int *out, const int *in) {
  __shared__ alignas(16) unsigned char scratch[1024];
  reinterpret_cast<int *>(scratch)[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = reinterpret_cast<int *>(scratch)[255 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) INIT(scratch, blockDim.x);
  __syncthreads();
  ARRIVE(scratch);
  WAIT(scratch, 0);
  out[256 + threadIdx.x] = in[threadIdx.x];
}

// Zeros first, as a constructor writes them.
__global__ void zeros_before(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) {
    all = 0;
    INIT(&all, blockDim.x);
  }
  __syncthreads();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

struct Stage {
  alignas(8) unsigned long long full;
  int count;
  int values[256];
};

__global__ void beside(int *out, const int *in) {
  __shared__ Stage stage;
  if (threadIdx.x == 0) {
    INIT(&stage.full, blockDim.x);
    stage.count = 256;
  }
  __syncthreads();
  stage.values[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 32) stage.count = 255;
  ARRIVE(&stage.full);
  WAIT(&stage.full, 0);
  out[threadIdx.x] = stage.values[255 - threadIdx.x] + stage.count;
}

// Behind the mbarriers, in dynamic memory.
extern __shared__ unsigned long long dynamic[];

__global__ void behind_them(int *out, const int *in) {
  int *values = reinterpret_cast<int *>(dynamic + 2);
  if (threadIdx.x == 0) {
    INIT(dynamic, blockDim.x);
    INIT(dynamic + 1, blockDim.x);
  }
  __syncthreads();
  values[threadIdx.x] = in[threadIdx.x];
  ARRIVE(dynamic);
  WAIT(dynamic, 0);
  ARRIVE(dynamic + 1);
  WAIT(dynamic + 1, 0);
  out[threadIdx.x] = values[255 - threadIdx.x];
}

// One or the other.
__global__ void in_two_arms(int *out, const int *in, int n) {
  __shared__ alignas(16) unsigned char scratch[1024];
  if (n > 0) {
    if (threadIdx.x == 0) INIT(scratch, blockDim.x);
    __syncthreads();
    ARRIVE(scratch);
    WAIT(scratch, 0);
    out[threadIdx.x] = n;
  } else {
    __syncthreads();
    reinterpret_cast<int *>(scratch)[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = reinterpret_cast<int *>(scratch)[255 - threadIdx.x];
  }
}

// Other threads write to their places.
__global__ void later_places(int *out, const int *in) {
  __shared__ alignas(16) int words[512];
  if (threadIdx.x == 0) INIT(words, blockDim.x);
  __syncthreads();
  words[threadIdx.x + 2] = in[threadIdx.x];
  if (threadIdx.x == 34) words[300] = in[threadIdx.x];
  ARRIVE(words);
  WAIT(words, 0);
  out[threadIdx.x] = words[257 - threadIdx.x];
}
