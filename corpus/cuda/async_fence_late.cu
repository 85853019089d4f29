// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX701
// why: the fence is the sender's, behind the barrier, and not of those who stored

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_DONE()                                                                              \
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

// The fence is the sender's.
__global__ void fenced_after(int *out, const int *in) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  WAIT(&full, 0);
  packet[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    FENCE();
    BULK_STORE(out, packet, 1024);  //~[!ir-G] PTX701?
    BULK_DONE();
  }
}

// Right: each thread has a fence behind its store, and the sender one of its own.
__global__ void fenced_by_all(int *out, const int *in) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  WAIT(&full, 0);
  packet[threadIdx.x] += 1;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    FENCE();
    BULK_STORE(out, packet, 1024);
    BULK_DONE();
  }
}

// The stores are in a loop.
__global__ void __launch_bounds__(256) stored_in_a_loop(int *out, const int *in) {
  __shared__ alignas(128) int page[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) page[i] = in[i] * 2;
  __syncthreads();
  FENCE();
  if (threadIdx.x == 0) {
    BULK_STORE(out, page, 4096);  //~ PTX701?
    BULK_DONE();
  }
}

// Right: the same with the fence of all before the barrier.
__global__ void __launch_bounds__(256) stored_in_a_loop_and_fenced(int *out, const int *in) {
  __shared__ alignas(128) int page[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) page[i] = in[i] * 2;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, page, 4096);
    BULK_DONE();
  }
}

// Right: each round has a fence.
__global__ void __launch_bounds__(256) fenced_in_a_loop(int *out, const int *in) {
  __shared__ alignas(128) int page[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) {
    page[i] = in[i] * 2;
    FENCE();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    FENCE();
    BULK_STORE(out, page, 4096);
    BULK_DONE();
  }
}
