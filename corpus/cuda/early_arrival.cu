// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX714
// why: a lane arrives at an mbarrier for its warp, and nothing makes the stores of the other lanes come before

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
__device__ __forceinline__ bool elected() {
  unsigned picked;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(picked));
  return picked;
}

__global__ void by_first_lanes(int *out, const int *in) {
  __shared__ int tile[128];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 4);
  __syncthreads();
  if (threadIdx.x < 128) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 32 == 0) ARRIVE(&full);  //~ PTX714
  } else if (threadIdx.x < 160) {
    WAIT(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x - 127];
  }
}

__global__ void by_one_thread(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) ARRIVE(&full);  //~ PTX714
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}

__global__ void by_an_elected_lane(int *out, const int *in) {
  __shared__ int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (elected()) ARRIVE(&full);  //~ PTX714?
  } else if (threadIdx.x == 32) {
    WAIT(&full, 0);
    out[0] = tile[1];
  }
}
