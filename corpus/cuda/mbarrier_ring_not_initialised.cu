// targets: sm_90 sm_120
// why: no mbarrier of a variable is initialised, and which one is used depends on the round

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void second_ring(int *out, int n) {
  __shared__ alignas(8) unsigned long long full[4], empty[4];
  if (threadIdx.x < 4) INIT(&full[threadIdx.x], blockDim.x);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ARRIVE(&full[i & 3]);
    WAIT(&full[i & 3], (i >> 2) & 1);
    ARRIVE(&empty[i & 3]);  //~ PTX705
  }
  out[threadIdx.x] = n;
}

extern __shared__ unsigned long long dynamic[];

__global__ void next_in_dynamic_memory(int *out) {
  if (threadIdx.x == 0) INIT(dynamic, blockDim.x);
  __syncthreads();
  ARRIVE(dynamic + 1);  //~ PTX705
  WAIT(dynamic, 0);
  out[threadIdx.x] = 1;
}
