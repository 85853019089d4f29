// targets: sm_90 sm_120
// why: a thread waits for groups, and only another thread commits: groups are counted by thread

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

__global__ void second_thread_commits(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) BULK_STORE(out, tile, 1024);
  if (threadIdx.x == 1) BULK_COMMIT();
  if (threadIdx.x == 0) BULK_WAIT_READ(0);  //~ PTX703
}
