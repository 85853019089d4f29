// targets: sm_90 sm_120
// why: the mbarriers of a ring are initialised at places that are computed, in one variable or through a pointer

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

struct Ring {
  alignas(8) unsigned long long full[4];
  unsigned long long empty[4];
};

__global__ void both_in_one_variable(int *out, int n) {
  __shared__ Ring ring;
  if (threadIdx.x < 4) {
    INIT(&ring.full[threadIdx.x], blockDim.x);
    INIT(&ring.empty[threadIdx.x], blockDim.x);
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ARRIVE(&ring.full[i & 3]);
    WAIT(&ring.full[i & 3], (i >> 2) & 1);
    ARRIVE(&ring.empty[i & 3]);
  }
  out[threadIdx.x] = n;
}

__global__ void one_loop_for_both(int *out, int n) {
  __shared__ alignas(8) unsigned long long full[4], empty[4];
  if (threadIdx.x < 8) INIT(threadIdx.x < 4 ? &full[threadIdx.x] : &empty[threadIdx.x - 4], blockDim.x);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ARRIVE(&full[i & 3]);
    WAIT(&full[i & 3], (i >> 2) & 1);
    ARRIVE(&empty[i & 3]);
  }
  out[threadIdx.x] = n;
}

__device__ __noinline__ void make(unsigned long long *bar) { INIT(bar, blockDim.x); }

__global__ void in_a_function(int *out, int n) {
  __shared__ alignas(8) unsigned long long full[4], empty[4];
  if (threadIdx.x < 4) {
    make(&full[threadIdx.x]);
    make(&empty[threadIdx.x]);
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ARRIVE(&full[i & 3]);
    WAIT(&full[i & 3], (i >> 2) & 1);
    ARRIVE(&empty[i & 3]);
  }
  out[threadIdx.x] = n;
}

extern __shared__ unsigned long long dynamic[];
extern __shared__ unsigned long long same_memory[];

__global__ void two_names(int *out) {
  if (threadIdx.x == 0) INIT(dynamic, blockDim.x);
  __syncthreads();
  ARRIVE(same_memory);  //~[O3] PTX605
  WAIT(same_memory, 0);
  out[threadIdx.x] = 1;
}

__global__ void rounded_up(int *out) {
  unsigned long long *bars = reinterpret_cast<unsigned long long *>((reinterpret_cast<unsigned long long>(dynamic) + 127) & ~127ull);
  if (threadIdx.x == 0) INIT(bars, blockDim.x);
  __syncthreads();
  ARRIVE(bars);
  WAIT(bars, 0);
  out[threadIdx.x] = 1;
}
