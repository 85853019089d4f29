// targets: sm_90 sm_120
// why: mbarriers: what a thread did before its arrival is seen by those that have waited for the phase

__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned long long *bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void expect(unsigned long long *bar, int bytes) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1; }" ::"r"(address(bar)), "r"(bytes) : "memory");
}
__device__ void wait(unsigned long long *bar, int parity) {
  asm volatile("{\n"
               ".reg .pred p;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@p bra done;\n"
               "bra again;\n"
               "done:\n"
               "}" ::"r"(address(bar)), "r"(parity) : "memory");
}
__device__ void bulk(void *to, const void *from, int bytes, unsigned long long *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)), "l"(from), "r"(bytes),
               "r"(address(bar)) : "memory");
}

// right: a bulk copy by thread 0, all wait for its bytes, all meet before the next copy.
__global__ void __launch_bounds__(128) bulk_copies(int *out, const int *in, int rounds) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long bar;
  int t = threadIdx.x, sum = 0;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    if (t == 0) {
      expect(&bar, sizeof s);
      bulk(s, in + k * 128, sizeof s, &bar);
    }
    wait(&bar, k & 1);
    sum += s[127 - t];
    __syncthreads();
  }
  out[t] = sum;
}

// right: the copies of cp.async arrive on the mbarrier themselves, and all wait for it.
__global__ void __launch_bounds__(64) copies_that_arrive(int *out, const int *in) {
  __shared__ int s[64];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(&s[t])), "l"(in + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&bar)) : "memory");
  wait(&bar, 0);
  out[t] = s[63 - t];
}
