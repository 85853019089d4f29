// targets: sm_90 sm_120
// why: the kernel does ask the function that it shares with others for the operation, and lacks what belongs to it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")

using Barrier = unsigned long long;

__device__ __noinline__ void meet(int *data, Barrier *all, bool waits) {
  data[threadIdx.x] *= 2;
  if (waits) {
    ARRIVE(all);  //~ PTX705
    WAIT(all, 0);
  }
}

__global__ void never_made(int *data) {
  __shared__ Barrier all;
  meet(data, &all, true);
}

__global__ void asks_for_none(int *data) { meet(data, nullptr, false); }

__device__ __noinline__ void put(int *out, int *tile, unsigned bytes) {
  if (bytes % 16 != 0) {
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = tile[i];
  } else if (threadIdx.x == 0) {
    BULK_STORE(out, tile, bytes);  //~[!clang-G] PTX701
    BULK_DONE();
  }
}

__global__ void not_fenced(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  __syncthreads();
  put(out, tile, 1024);
}

// 36 is no multiple of 16, and the function takes all from 32 on.
__device__ __noinline__ void put_long(char *out, char *tile, unsigned bytes) {
  if (bytes < 32) {
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
  } else if (threadIdx.x == 0) {
    BULK_STORE(out, tile, bytes);  //~ PTX707
    BULK_DONE();
  }
}

__global__ void odd_and_long(char *out, char value) {
  __shared__ alignas(128) char tile[256];
  tile[threadIdx.x] = value;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  put_long(out, tile, 36);
  put_long(out, tile, 20);
}

__device__ __noinline__ void fill(int *tile, const int *in, Barrier *full, bool by_copy) {
  if (!by_copy)
    tile[threadIdx.x] = in[threadIdx.x];
  else if (threadIdx.x == 0)
    BULK_LOAD(tile, in, 1024, full);  //~ PTX706
}

__global__ void expects_nothing(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) INIT(&full, blockDim.x);
  __syncthreads();
  fill(tile, in, &full, true);
  ARRIVE(&full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
