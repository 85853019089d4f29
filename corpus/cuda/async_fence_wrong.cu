// targets: sm_90 sm_120
// why: fences that order something else than shared memory between the generic and the async proxy

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE(what) asm volatile("fence." what ";" ::: "memory")
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

SENDS(of_global_memory, "proxy.async.global")  //~ PTX701
SENDS(of_aliases, "proxy.alias")  //~ PTX701
SENDS(of_threads, "acq_rel.cta")  //~ PTX701
SENDS(of_the_cluster, "acq_rel.cluster")  //~ PTX701
SENDS(of_the_initialisation, "mbarrier_init.release.cluster")  //~ PTX701
SENDS(of_the_tensor_map, "proxy.tensormap::generic.release.cta")  //~ PTX701
