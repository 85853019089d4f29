// targets: sm_90 sm_120
// why: an mbarrier counts more arrivals than a warp makes, and only lanes of a warp have waited for its initialisation

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

__global__ void after_a_warp_barrier(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 256);
  __syncwarp();
  ARRIVE(&all);  //~ PTX709
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__global__ void by_an_elected_thread(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x / 32 == 0 && elected()) INIT(&all, 256);
  ARRIVE(&all);  //~ PTX709
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

extern __shared__ unsigned long long dynamic[];

__global__ void in_dynamic_memory(int *out) {
  if (threadIdx.x == 0) INIT(&dynamic[2], 256);
  ARRIVE(&dynamic[2]);  //~ PTX709
  WAIT(&dynamic[2], 0);
  out[threadIdx.x] = 1;
}
