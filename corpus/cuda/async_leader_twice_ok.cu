// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX702 -W potential:PTX704
// why: the thread that starts a copy is asked for again before the wait, by a vote or the number of its warp

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define CP16(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

__device__ __forceinline__ bool picked() {
  unsigned is_picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is_picked));
  return is_picked;
}

__device__ __forceinline__ int warp_number() { return __shfl_sync(0xffffffff, threadIdx.x / 32, 0); }

__global__ void by_vote(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x < 32 && picked()) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  out[512 + threadIdx.x] = tile[255 - threadIdx.x];
  if (threadIdx.x < 32 && picked()) BULK_WAIT_READ(0);
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];  //~[nvcc-G] PTX704?
  __syncthreads();
  out[768 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void by_warp_and_vote(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (warp_number() == 0 && picked()) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  out[512 + threadIdx.x] = tile[255 - threadIdx.x];
  if (warp_number() == 0 && picked()) BULK_WAIT_READ(0);
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];
  __syncthreads();
  out[768 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void by_warp_and_lane(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (warp_number() == 0 && threadIdx.x % 32 == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  out[512 + threadIdx.x] = tile[255 - threadIdx.x];
  if (warp_number() == 0 && threadIdx.x % 32 == 0) BULK_WAIT_READ(0);
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];
  __syncthreads();
  out[768 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void brought_by_a_warp(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  if (warp_number() == 0) {
    CP16(tile + 4 * threadIdx.x, in + 4 * threadIdx.x);
    COMMIT();
  }
  out[512 + threadIdx.x] = in[threadIdx.x];
  if (warp_number() == 0) WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
