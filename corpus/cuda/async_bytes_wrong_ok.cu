// targets: sm_90 sm_120
// why: bytes that are expected before or after the copy, in parts, by several lanes, or none on purpose

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

#define EXPECT_ONLY(bar, bytes) \
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")

__global__ void equal(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void after_the_copy(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_LOAD(tile, in, 1024, &full);
    EXPECT_ONLY(&full, 1024);
    ARRIVE(&full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void in_parts(int *out, const int *in, const int *more) {
  __shared__ alignas(128) int left[256];
  __shared__ alignas(128) int right[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT_ONLY(&full, 1024);
    BULK_LOAD(left, in, 1024, &full);
    EXPECT(&full, 1024);
    BULK_LOAD(right, more, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = left[threadIdx.x] + right[threadIdx.x];
}

// Each lane of a warp brings a part, and expects it.
__global__ void by_lanes(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    EXPECT(&full, 32);
    BULK_LOAD(tile + threadIdx.x * 8, in + threadIdx.x * 8, 32, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// One expects for all.
__global__ void one_for_all(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
  }
  __syncthreads();
  if (threadIdx.x < 32) BULK_LOAD(tile + threadIdx.x * 8, in + threadIdx.x * 8, 32, &full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Nothing is expected where nothing is brought.
__global__ void none_on_purpose(int *out, const int *in, bool has_more) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  tile[threadIdx.x] = 0;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, has_more ? 1024 : 0);
    if (has_more) BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// The sizes come from the host; rows are brought in a loop, and expected as a whole.
__global__ void rows(int *out, const int *in, int count, unsigned pitch) {
  extern __shared__ __align__(128) int pool[];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, count * 128);
    for (int i = 0; i < count; i++) BULK_LOAD(pool + i * 32, in + i * pitch, 128, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = pool[threadIdx.x];
}

// Another round of the same barrier has another size.
__global__ void two_rounds(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  WAIT(&full, 0);
  int sum = tile[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 512);
    BULK_LOAD(tile, in + 256, 512, &full);
  }
  WAIT(&full, 1);
  out[threadIdx.x] = sum + tile[threadIdx.x / 2];
}

// Two copies, a part that is left out, and a barrier that another thread expects bytes at.
__global__ void two_copies(int *out, const int *in) {
  __shared__ alignas(128) int tile[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 2048);
    BULK_LOAD(tile[0], in, 1024, &full);
    BULK_LOAD(tile[1], in + 256, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
}

__global__ void by_condition(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile[0], in, 1024, &full);
    if (n > 1) {
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(SHARED(&full)), "r"(1024u) : "memory");
      BULK_LOAD(tile[1], in + 256, 1024, &full);
    }
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[0][threadIdx.x] + (n > 1 ? tile[1][threadIdx.x] : 0);
}

__global__ void by_two_threads(int *out, const int *in) {
  __shared__ alignas(128) int tile[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 2048);
    BULK_LOAD(tile[0], in, 1024, &full);
  }
  if (threadIdx.x == 32) BULK_LOAD(tile[1], in + 256, 1024, &full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
}

// In rounds: each expects what it brings.
__global__ void in_rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) EXPECT(&full, 4096);
  for (int i = 0; i < 4; i++) {
    if (threadIdx.x == 0) BULK_LOAD(tile, in + i * 256, 1024, &full);
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}
