// targets: sm_90 sm_120
// why: what ordinary stores have written to shared memory is copied out by the async proxy, and no fence makes it visible there

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_ADD(to, from, bytes)                                                           \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" \
               ::"l"(__cvta_generic_to_global(to)), "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")

// The state of a recurrence: all threads write it, one sends it.
__global__ void state(float *out, const float *in, float decay) {
  __shared__ alignas(128) float tile[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = in[i] * decay;
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4096);  //~ PTX701
    BULK_DONE();
  }
}

// The barrier alone is none between the proxies, and neither is a fence for other threads.
__global__ void thread_fence(float *out, const float *in) {
  __shared__ alignas(128) float tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);  //~ PTX701
    BULK_DONE();
  }
}

__global__ void added(float *sums, const float *in) {
  __shared__ alignas(16) float part[128];
  part[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 32) {
    BULK_ADD(sums, part, 512);  //~ PTX701
    BULK_DONE();
  }
}

// In dynamic shared memory, by the only thread that has written.
__global__ void one_thread(float *out) {
  extern __shared__ __align__(128) float pool[];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) pool[i] = 1.0f + blockIdx.x;
    BULK_STORE(out, pool, 16);  //~[O3] PTX701
    BULK_DONE();
  }
}
