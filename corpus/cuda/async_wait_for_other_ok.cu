// targets: sm_90 sm_120
// why: a wait for a copy comes before each read of what it brings, by the thread itself or by one that it has met; it may be for a later phase, at one of several mbarriers, or passed on

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")
#define TRACK(bar) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(SHARED(bar)) : "memory")
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

// The last groups may be under way, and are not read.
__global__ void older_stage(int *out, const int *in) {
  __shared__ int stages[2][256];
  COPY(&stages[0][threadIdx.x], in + threadIdx.x);
  COMMIT();
  COPY(&stages[1][threadIdx.x], in + 256 + threadIdx.x);
  COMMIT();
  WAIT_GROUP(1);
  __syncthreads();
  int sum = stages[0][255 - threadIdx.x];
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = sum + stages[1][255 - threadIdx.x];
}

// Groups without copies count, too.
__global__ void empty_group(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  COMMIT();
  WAIT_GROUP(1);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void all_copies(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  WAIT_ALL();
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// An mbarrier tracks the copies.
__global__ void tracked(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    COPY(&tile[threadIdx.x], in + threadIdx.x);
    TRACK(&full);
  } else {
    WAIT(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x & 31];
  }
}

// Three stages, of which two are under way at the wait.
__global__ void ring(int *out, const int *in, int n) {
  __shared__ int stages[3][256];
  for (int i = 0; i < 2; ++i) {
    COPY(&stages[i][threadIdx.x], in + i * 256 + threadIdx.x);
    COMMIT();
  }
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    WAIT_GROUP(1);
    __syncthreads();
    sum += stages[i % 3][255 - threadIdx.x];
    if (i + 2 < n) COPY(&stages[(i + 2) % 3][threadIdx.x], in + (i + 2) * 256 + threadIdx.x);
    COMMIT();
  }
  out[threadIdx.x] = sum;
}

// What the round before has brought: nothing, in the first one.
__global__ void behind_by_a_round(int *out, const int *in, int n) {
  __shared__ int tile[256];
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i <= n; ++i) {
    if (i > 0) sum += tile[255 - threadIdx.x];
    __syncthreads();
    if (i < n) COPY(&tile[threadIdx.x], in + i * 256 + threadIdx.x);
    COMMIT();
    WAIT_GROUP(0);
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Some threads copy, and all fill the rest.
__global__ void padded(int *out, const int *in, int n) {
  __shared__ int tile[256];
  if (threadIdx.x < n) {
    COPY(&tile[threadIdx.x], in + threadIdx.x);
  } else {
    tile[threadIdx.x] = 0;
  }
  COMMIT();
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// A group of each thread that has one, waited for by these.
__global__ void by_some(int *out, const int *in) {
  __shared__ int tile[128];
  if (threadIdx.x < 128) {
    COPY(&tile[threadIdx.x], in + threadIdx.x);
    COMMIT();
    WAIT_GROUP(0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x & 127];
}

__device__ __noinline__ void wait_there() { WAIT_GROUP(0); }

__global__ void wait_in_a_function(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  wait_there();
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// Each stage at its mbarrier.
__global__ void own_barriers(int *out, const int *in) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    INIT(&full[1], 1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in, 1024, &full[0]);
    EXPECT(&full[1], 1024);
    BULK_LOAD(stages[1], in + 256, 1024, &full[1]);
  }
  __syncthreads();
  WAIT(&full[1], 0);
  int sum = stages[1][255 - threadIdx.x];
  WAIT(&full[0], 0);
  out[threadIdx.x] = sum + stages[0][threadIdx.x];
}

// Both stages at one.
__global__ void common_barrier(int *out, const int *in) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    EXPECT(&full[0], 2048);
    BULK_LOAD(stages[0], in, 1024, &full[0]);
    BULK_LOAD(stages[1], in + 256, 1024, &full[0]);
  }
  __syncthreads();
  WAIT(&full[0], 0);
  out[threadIdx.x] = stages[1][255 - threadIdx.x] + stages[0][threadIdx.x];
}

// A mbarrier that depends on the round.
__global__ void computed_barrier(int *out, const int *in, int n) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    INIT(&full[1], 1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in, 1024, &full[0]);
    EXPECT(&full[1], 1024);
    BULK_LOAD(stages[1], in + 256, 1024, &full[1]);
  }
  __syncthreads();
  WAIT(&full[n & 1], 0);
  out[threadIdx.x] = stages[n & 1][255 - threadIdx.x];
}

// One thread waits, and tells the others at another mbarrier.
__global__ void passed_on(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full, ready;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&ready, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    WAIT(&full, 0);
    ARRIVE(&ready);
  }
  WAIT(&ready, 0);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// Or at a barrier of the block.
__global__ void one_waits(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
    WAIT(&full, 0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// The copy belongs to the second phase: an arrival has completed the first one.
__global__ void second_phase(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE(&full);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 1);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// Two phases, one after the other.
__global__ void both_phases(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  int sum = tile[255 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in + 256, 1024, &full);
  }
  WAIT(&full, 1);
  out[threadIdx.x] = sum + tile[255 - threadIdx.x];
}

// The first phase is one of all threads.
__global__ void phase_of_threads(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, blockDim.x);
  __syncthreads();
  ARRIVE(&full);
  WAIT(&full, 0);
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  } else {
    ARRIVE(&full);
  }
  WAIT(&full, 1);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// In a loop, with the wait first.
__global__ void rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) {
      EXPECT(&full, 1024);
      BULK_LOAD(tile, in + i * 256, 1024, &full);
    }
    WAIT(&full, i & 1);
    out[i * 256 + threadIdx.x] = tile[255 - threadIdx.x];
    __syncthreads();
  }
}

// Two stages in a loop: what is read came a round before.
__global__ void stages_in_turn(int *out, const int *in, int n) {
  __shared__ alignas(128) int stages[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    INIT(&full[0], 1);
    INIT(&full[1], 1);
    EXPECT(&full[0], 1024);
    BULK_LOAD(stages[0], in, 1024, &full[0]);
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int next = (i + 1) & 1;
    if (threadIdx.x == 0) {
      EXPECT(&full[next], 1024);
      BULK_LOAD(stages[next], in + (i + 1) * 256, 1024, &full[next]);
    }
    WAIT(&full[i & 1], (i >> 1) & 1);
    out[i * 256 + threadIdx.x] = stages[i & 1][255 - threadIdx.x];
    __syncthreads();
  }
}

// A part that no copy fills.
__global__ void other_half(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  __shared__ alignas(8) unsigned long long full;
  tile[256 + threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  int own = tile[511 - threadIdx.x];
  WAIT(&full, 0);
  out[threadIdx.x] = own + tile[255 - threadIdx.x];
}

// One of two variables, of which nothing is copied into the other.
__global__ void one_of_two(int *out, const int *in, int n) {
  __shared__ int tile[256], zeros[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  zeros[threadIdx.x] = 0;
  __syncthreads();
  const int *from = n > 0 ? zeros : tile;
  if (n > 0) out[threadIdx.x] = from[255 - threadIdx.x];
  WAIT_GROUP(0);
}

// A function that waits for what its last call has copied.
__device__ __noinline__ int next(const int *in, int *to, const int *from, bool is_first) {
  COPY(to + threadIdx.x, in + threadIdx.x);
  WAIT_GROUP(0);
  COMMIT();
  return is_first ? 0 : from[threadIdx.x];
}

__global__ void called_in_rounds(int *out, const int *in, int n) {
  __shared__ int tiles[2][256];
  int sum = 0;
  for (int i = 0; i <= n; ++i) sum += next(in + i * 256, tiles[i & 1], tiles[(i & 1) ^ 1], i == 0);
  out[threadIdx.x] = sum;
}

__device__ __noinline__ int wait_and_read(const int *tile) {
  int early = tile[255 - threadIdx.x];
  WAIT_GROUP(0);
  __syncthreads();
  return early + tile[255 - threadIdx.x];
}

// Called twice, and what it reads before it waits counts from the second call on.
__global__ void called_twice(int *out, const int *in) {
  __shared__ int tile[256];
  tile[threadIdx.x] = 0;
  __syncthreads();
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = wait_and_read(tile) + wait_and_read(tile);
}
