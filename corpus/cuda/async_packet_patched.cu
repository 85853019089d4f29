// targets: sm_90 sm_120
// why: a packet that a copy has brought is changed by ordinary stores and sent on, with no fence between the two proxies

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
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
#define ELECTED(is)                                                                                            \
  unsigned is;                                                                                                 \
  asm volatile("{\n\t.reg .pred chosen;\n\telect.sync _|chosen, 0xffffffff;\n\tselp.b32 %0, 1, 0, chosen;\n\t}" \
               : "=r"(is))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

// One thread does it all.
__global__ void header(int *out, const int *in) {
  __shared__ alignas(128) int packet[64];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 256);
    BULK_LOAD(packet, in, 256, &full);
    WAIT(&full, 0);
    packet[0] = packet[1] + blockIdx.x;
    BULK_STORE(out, packet, 256);  //~[!ir-G] PTX701
    BULK_DONE();
  }
}

// Each lane of a warp changes a word, and one that the hardware picks sends: FlashInfer's exchange of packets.
__global__ void __launch_bounds__(32) by_a_warp(int *out, const int *in, int carried) {
  __shared__ alignas(128) int packet[64];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 256);
    BULK_LOAD(packet, in, 256, &full);
  }
  __syncwarp();
  WAIT(&full, 0);
  packet[threadIdx.x] = carried;
  __syncwarp();
  ELECTED(sends);
  if (sends) {
    BULK_STORE(out, packet, 256);  //~[!ir-G] PTX701
    BULK_DONE();
  }
}

// A packet for each warp; the fence is in front of the stores.
__global__ void by_warps(int *out, const int *in, int carried) {
  __shared__ alignas(128) int packets[8][64];
  __shared__ alignas(8) unsigned long long full[8];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int *packet = packets[warp];
  if (lane == 0) {
    INIT(&full[warp], 1);
    EXPECT(&full[warp], 256);
    BULK_LOAD(packet, in + warp * 64, 256, &full[warp]);
  }
  __syncwarp();
  WAIT(&full[warp], 0);
  FENCE();
  packet[lane] = carried;
  __syncwarp();
  ELECTED(sends);
  if (sends) {
    BULK_STORE(out + warp * 64, packet, 256);  //~[!ir-G] PTX701
    BULK_DONE();
  }
}

// All threads of a block change a packet, and the first one sends.
__global__ void by_a_block(int *out, const int *in, int by) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  WAIT(&full, 0);
  packet[threadIdx.x] += by;
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, packet, 1024);  //~[!ir-G] PTX701
    BULK_DONE();
  }
}

// All threads change it, and one that the hardware picks sends.
__global__ void picked(int *out, const int *in, int by) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  packet[threadIdx.x] += by;
  __syncthreads();
  if (threadIdx.x / 32 == 1) {
    ELECTED(sends);
    if (sends) {
      BULK_STORE(out, packet, 1024);  //~[!ir-G] PTX701
      BULK_DONE();
    }
  }
}

// The fence stands behind the copy, for the next part.
__global__ void fenced_later(int *out, const int *in, int by) {
  __shared__ alignas(128) int packets[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 2048);
    BULK_LOAD(packets, in, 2048, &full);
  }
  WAIT(&full, 0);
  packets[0][threadIdx.x] += by;
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, packets[0], 1024);  //~[!ir-G] PTX701
    BULK_DONE();
  }
  packets[1][threadIdx.x] += by;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + 256, packets[1], 1024);
    BULK_DONE();
  }
}
