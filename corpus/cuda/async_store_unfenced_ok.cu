// targets: sm_90 sm_120
// why: what is copied out of shared memory was fenced by its writers or by the sender, or no ordinary store has written it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void fenced_by_writers(float *out, const float *in, float decay) {
  __shared__ alignas(128) float tile[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = in[i] * decay;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4096);
    BULK_DONE();
  }
}

__global__ void fenced_by_sender(float *out, const float *in) {
  __shared__ alignas(128) float tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  __syncthreads();
  if (threadIdx.x == 0) {
    FENCE();
    BULK_STORE(out, tile, 1024);
    BULK_DONE();
  }
}

// A copy in completes with a fence of its own: what has come so is sent on.
__global__ void passed_on(float *out, const float *in, int rounds) {
  __shared__ alignas(128) float tile[1024];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    for (int i = 0; i < rounds; i++) {
      EXPECT(&full, 4096);
      BULK_LOAD(tile, in + i * 1024, 4096, &full);
      WAIT(&full, i & 1);
      BULK_STORE(out + i * 1024, tile, 4096);
      BULK_DONE();
    }
  }
}

// The sum of a block has a scratch of its own, beside what is sent on.
__global__ void scratch_beside(float *out, const float *in, float *sum) {
  __shared__ alignas(128) float tile[256];
  __shared__ float scratch[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  scratch[threadIdx.x] = tile[threadIdx.x] * tile[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_DONE();
    float all = 0;
    for (int i = 0; i < 256; i++) all += scratch[i];
    *sum = all;
  }
}

// The same condition is asked three times: who writes has fenced, and what is sent was written.
__global__ void checkpoint(float *out, const float *in, float *state, bool now) {
  __shared__ alignas(128) float tile[256];
  float value = in[threadIdx.x];
  if (now) tile[threadIdx.x] = value;
  state[threadIdx.x] = value * 2;
  if (now) FENCE();
  __syncthreads();
  if (now && threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_DONE();
  }
}

// The reads of a copy in have ended before the next one writes there.
__global__ void read_then_filled(float *out, const float *in, int rounds) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (threadIdx.x == 0) {
      EXPECT(&full, 1024);
      BULK_LOAD(tile, in + i * 256, 1024, &full);
    }
    WAIT(&full, i & 1);
    sum += tile[threadIdx.x ^ 1];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
