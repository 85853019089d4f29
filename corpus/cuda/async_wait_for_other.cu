// targets: sm_90 sm_120
// why: what a copy brings is read, and no wait before the read is one for the copy: it is at another mbarrier, for a phase that nothing fills, leaves the group under way, or comes later in the round

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
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

// Each thread has waited until at most one group is under way, and there is only one.
__global__ void too_shallow(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  WAIT_GROUP(1);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];  //~ PTX702
}

// Two stages, both of which may be under way.
__global__ void two_stages(int *out, const int *in) {
  __shared__ int stages[2][256];
  COPY(&stages[0][threadIdx.x], in + threadIdx.x);
  COMMIT();
  COPY(&stages[1][threadIdx.x], in + 256 + threadIdx.x);
  COMMIT();
  WAIT_GROUP(2);
  __syncthreads();
  out[threadIdx.x] = stages[0][255 - threadIdx.x];  //~ PTX702
}

// An arrival by the threads that copy is none of their copies.
__global__ void plain_arrival(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    COPY(&tile[threadIdx.x], in + threadIdx.x);
    ARRIVE(&full);
  } else {
    WAIT(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x & 31];  //~ PTX702
  }
}

// The wait of the round comes after the read.
__global__ void late_in_the_round(int *out, const int *in, int n) {
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
    __syncthreads();
    int early = tile[255 - threadIdx.x];  //~[!ir-G] PTX702
    WAIT(&full, i & 1);
    out[i * 256 + threadIdx.x] = early;
    __syncthreads();
  }
}

// The wait is at the mbarrier of the other stage.
__global__ void other_barrier(int *out, const int *in) {
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
  WAIT(&full[0], 0);
  int early = stages[1][255 - threadIdx.x];  //~ PTX702
  WAIT(&full[1], 0);
  out[threadIdx.x] = early + stages[0][threadIdx.x];
}

// A new mbarrier has passed the phase with parity 1.
__global__ void other_parity(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 1);
  out[threadIdx.x] = tile[255 - threadIdx.x];  //~ PTX702
}

// The producer tells the others that it has started the copy, and they take it for the end.
__global__ void started_only(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) unsigned long long full, ready;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&ready, 1);
  }
  __syncthreads();
  if (threadIdx.x == 256) {
    EXPECT(&full, 1024);
    BULK_LOAD(tile, in, 1024, &full);
    ARRIVE(&ready);
  } else if (threadIdx.x < 256) {
    WAIT(&ready, 0);
    int early = tile[255 - threadIdx.x];  //~ PTX702
    WAIT(&full, 0);
    out[threadIdx.x] = early;
  }
}
