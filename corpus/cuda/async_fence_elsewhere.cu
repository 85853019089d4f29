// targets: sm_90 sm_120
// why: all threads come to the barriers between the store and the copy, and to no fence there

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")

__global__ void fenced_for_the_first_copy(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_DONE();
  }
  __syncthreads();
  tile[threadIdx.x] = value * 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + 256, tile, 1024);  //~ PTX701
    BULK_DONE();
  }
}

// In rounds whose number the launch decides.
__global__ void in_rounds(int *out, int value, int n) {
  __shared__ alignas(128) int tile[256], last[256];
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    tile[threadIdx.x] = value + i;
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + 256 * i, tile, 1024);  //~[!clang-G] PTX701
      BULK_DONE();
    }
    __syncthreads();
  }
  last[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + 256 * n, last, 1024);
    BULK_DONE();
  }
}
