// targets: sm_90 sm_120
// why: a function that is called once has no group of a call before

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define CP(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

__device__ __noinline__ int late(const int *in, int *to) {
  CP(to + threadIdx.x, in + threadIdx.x);
  WAIT_GROUP(0);  //~ PTX703
  COMMIT();
  __syncthreads();
  return to[255 - threadIdx.x];  //~ PTX702
}

__global__ void commits_too_late(int *out, const int *in) {
  __shared__ int tile[256];
  out[threadIdx.x] = late(in, tile);
}

// Whoever calls it: there is no group at all.
__device__ __noinline__ int never(const int *in, int *to) {
  CP(to + threadIdx.x, in + threadIdx.x);
  WAIT_GROUP(0);  //~ PTX703
  __syncthreads();
  return to[255 - threadIdx.x];
}

__global__ void never_commits(int *out, const int *in, int n) {
  __shared__ int tile[256];
  int sum = 0;
  for (int i = 0; i < n; i++) sum += never(in + i * 256, tile);
  out[threadIdx.x] = sum;
}
