// targets: sm_90 sm_120
// compilers: nvcc
// why: each spelling that orders shared memory between the generic and the async proxy

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE(what) asm volatile(what ";" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")

#define SENDS(name, fence)                                \
  __global__ void name(float *out, const float *in) {     \
    __shared__ alignas(128) float tile[256];              \
    tile[threadIdx.x] = in[threadIdx.x];                  \
    FENCE(fence);                                         \
    __syncthreads();                                      \
    if (threadIdx.x == 0) {                               \
      BULK_STORE(out, tile, 1024);                        \
      BULK_DONE();                                        \
    }                                                     \
  }

SENDS(of_the_block, "fence.proxy.async.shared::cta")
SENDS(of_the_cluster, "fence.proxy.async.shared::cluster")
SENDS(of_all, "fence.proxy.async")
SENDS(in_the_older_spelling, "membar.proxy.async")
SENDS(restricted, "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster")
