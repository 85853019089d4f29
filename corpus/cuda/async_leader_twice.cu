// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX704
// why: the thread that a vote picks sends, and all write before it has waited

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
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

// Lane by lane into what the picked one sends.
__global__ void written_by_its_warp(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x < 32 && picked()) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  __syncthreads();
  tile[threadIdx.x & 31] = 0;  //~[O3,clang-G] PTX704
  //~^[nvcc-G] PTX704?
  if (threadIdx.x < 32 && picked()) BULK_WAIT_READ(0);
}

// The wait is another thread's.
__global__ void waited_for_by_another(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  if (threadIdx.x == 32) BULK_WAIT_READ(0);
  __syncthreads();
  tile[threadIdx.x] = in[256 + threadIdx.x];  //~ PTX704
}
