// targets: sm_90 sm_120
// why: what copies bring to shared memory is read once it is complete, by whom ever it was waited for

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define COPIES_ARRIVE(bar) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void neighbours(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  WAIT_ALL();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void own(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  WAIT_GROUP(0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void depth(int *out, const int *in) {
  __shared__ int stages[2][256];
  COPY(&stages[0][threadIdx.x], in + threadIdx.x);
  COMMIT();
  COPY(&stages[1][threadIdx.x], in + 256 + threadIdx.x);
  COMMIT();
  WAIT_GROUP(1);
  int sum = stages[0][threadIdx.x];
  WAIT_GROUP(0);
  sum += stages[1][threadIdx.x];
  out[threadIdx.x] = sum;
}

// As many stages as groups under way, with an empty group in the last rounds.
__global__ void pipelined(int *out, const int *in, int rounds) {
  __shared__ int stages[3][256];
  for (int i = 0; i < 2; i++) {
    if (i < rounds) COPY(&stages[i][threadIdx.x], in + i * 256 + threadIdx.x);
    COMMIT();
  }
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (i + 2 < rounds) COPY(&stages[(i + 2) % 3][threadIdx.x], in + (i + 2) * 256 + threadIdx.x);
    COMMIT();
    WAIT_GROUP(2);
    __syncthreads();
    sum += stages[i % 3][threadIdx.x ^ 1];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void tracked(int *out, const int *in) {
  __shared__ int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, blockDim.x);
  __syncthreads();
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COPIES_ARRIVE(&full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// One warp waits, and a barrier lets the others go on.
__global__ void waited_for_by_one(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
    WAIT(&full, 0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

// Another object is read while the copy is under way.
__global__ void beside(int *out, const int *in) {
  __shared__ int tile[256];
  __shared__ int other[256];
  other[threadIdx.x] = threadIdx.x;
  __syncthreads();
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  int sum = other[threadIdx.x ^ 1];
  WAIT_GROUP(0);
  out[threadIdx.x] = sum + tile[threadIdx.x];
}

// The wait is another thread's, in front of the barrier; the tile is also written by stores; a round later.
__global__ void waited_by_one(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
    WAIT(&full, 0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

__global__ void stored_as_well(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  tile[256 + threadIdx.x] = 1;
  __syncthreads();
  int other = tile[256 + (threadIdx.x ^ 1)];
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x] + other;
}

__global__ void round_by_round(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (i > 0) sum += tile[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      EXPECT(&full, 1024);
      BULK_LOAD(tile, in + i * 256, 1024, &full);
    }
    WAIT(&full, i & 1);
  }
  out[threadIdx.x] = sum;
}
