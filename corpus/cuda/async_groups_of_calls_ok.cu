// targets: sm_90 sm_120
// why: a function waits for the group that it made when it was called before

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define CP(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

// Called in a loop.
__device__ __noinline__ int next(const int *in, int *to, const int *from, bool is_first) {
  CP(to + threadIdx.x, in + threadIdx.x);
  WAIT_GROUP(0);
  COMMIT();
  return is_first ? 0 : from[threadIdx.x];
}

__global__ void in_rounds(int *out, const int *in, int n) {
  __shared__ int stages[2][256];
  int sum = 0;
  for (int i = 0; i <= n; i++) sum += next(in + i * 256, stages[i & 1], stages[i & 1 ^ 1], i == 0);
  out[threadIdx.x] = sum;
}

// Called in two places, the second time by another function.
__device__ __noinline__ int twice(const int *in, int *to, const int *from) {
  CP(to + threadIdx.x, in + threadIdx.x);
  WAIT_GROUP(0);
  COMMIT();
  return from == nullptr ? 0 : from[threadIdx.x];
}

__device__ __noinline__ int again(const int *in, int *stages) { return twice(in, stages + 256, stages); }

__global__ void in_two_calls(int *out, const int *in) {
  __shared__ int stages[512];
  int sum = twice(in, stages, nullptr);
  sum += again(in + 256, stages);
  out[threadIdx.x] = sum;
}

// Bulk copies: the stage that was sent two calls before is free.
__device__ __noinline__ void send(int *out, int *stage, int value) {
  stage[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, stage, 1024);
    BULK_WAIT_READ(0);
    BULK_COMMIT();
  }
  __syncthreads();
}

__global__ void sends(int *out, int n) {
  __shared__ alignas(128) int stages[2][256];
  for (int i = 0; i < n; i++) send(out + i * 256, stages[i & 1], i);
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}
