// targets: sm_90 sm_120
// why: an mbarrier that the lanes of one warp use after a barrier of the warp, or that counts what they arrive with at once

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__global__ void of_one_warp(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 32);
  __syncwarp();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

// Each lane arrives eight times at once.
__global__ void several_at_once(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 256);
  __syncwarp();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 8;" ::"r"(SHARED(&all)) : "memory");
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

__device__ __noinline__ void meet() { __syncthreads(); }

__global__ void meet_in_a_function(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x == 0) INIT(&all, 256);
  __syncwarp();
  meet();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}

extern __shared__ unsigned long long dynamic[];

__global__ void in_dynamic_memory(int *out) {
  if (threadIdx.x == 0) INIT(&dynamic[2], 256);
  __syncthreads();
  ARRIVE(&dynamic[2]);
  WAIT(&dynamic[2], 0);
  out[threadIdx.x] = 1;
}

// In the first warp alone, as the flag of the others says.
__global__ void one_warp_of_the_block(int *out) {
  __shared__ alignas(8) unsigned long long all;
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) INIT(&all, 32);
  __syncwarp();
  ARRIVE(&all);
  WAIT(&all, 0);
  out[threadIdx.x] = 1;
}
