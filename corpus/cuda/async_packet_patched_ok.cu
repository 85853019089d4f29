// targets: sm_90 sm_120
// why: a packet that a copy has brought is changed by ordinary stores, fenced, and sent on; or another part of it is

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
#define ELECTED(is)                                                                                            \
  unsigned is;                                                                                                 \
  asm volatile("{\n\t.reg .pred chosen;\n\telect.sync _|chosen, 0xffffffff;\n\tselp.b32 %0, 1, 0, chosen;\n\t}" \
               : "=r"(is))

// A warp of 32 lanes; each changes a word, one sends.
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
  FENCE();
  __syncwarp();
  ELECTED(sends);
  if (sends) {
    BULK_STORE(out, packet, 256);
    BULK_DONE();
  }
}

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
    FENCE();
    BULK_STORE(out, packet, 256);
    BULK_DONE();
  }
}

// In rounds, with a stage that a number in a register picks.
__global__ void rounds(int *out, const int *in, int n) {
  __shared__ alignas(128) int packets[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    int *packet = packets[i & 1];
    if (threadIdx.x == 0) {
      EXPECT(&full, 1024);
      BULK_LOAD(packet, in + i * 256, 1024, &full);
    }
    WAIT(&full, i & 1);
    packet[threadIdx.x] += i;
    FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out + i * 256, packet, 1024);
      BULK_DONE();
    }
    __syncthreads();
  }
}

// The words behind what is sent, and those of the other stage.
__global__ void beside(int *out, const int *in) {
  __shared__ alignas(128) int packets[2][256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packets[0], in, 1024, &full);
  }
  WAIT(&full, 0);
  packets[1][threadIdx.x] = packets[0][threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, packets[0], 1024);
    BULK_DONE();
  }
  out[256 + threadIdx.x] = packets[1][threadIdx.x ^ 1];
}

// A copy fills what the stores have written before it is sent.
__global__ void filled_again(int *out, const int *in) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  packet[threadIdx.x] = 0;
  FENCE();
  __syncthreads();
  out[256 + threadIdx.x] = packet[threadIdx.x ^ 1];
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
    WAIT(&full, 0);
    BULK_STORE(out, packet, 1024);
    BULK_DONE();
  }
}

// What the sender has changed is not sent, or by another thread, or is fenced by those that it waits for.
__global__ void others_words(int *out, const int *in, int by) {
  __shared__ alignas(128) int packet[512];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  WAIT(&full, 0);
  packet[256 + threadIdx.x] = packet[threadIdx.x] + by;
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, packet, 1024);
    BULK_DONE();
  }
  out[256 + threadIdx.x] = packet[256 + (threadIdx.x ^ 1)];
}

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
  packet[lane] = carried;
  FENCE();
  __syncwarp();
  ELECTED(sends);
  if (sends) {
    BULK_STORE(out + warp * 64, packet, 256);
    BULK_DONE();
  }
}

// The first thread changes what the second one sends, who fences.
__global__ void handed_on(int *out, const int *in, int by) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
    WAIT(&full, 0);
    packet[0] += by;
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    FENCE();
    BULK_STORE(out, packet, 1024);
    BULK_DONE();
  }
}

// All threads change it but the first word, which is all that is sent; or they fence, and one that the hardware picks sends.
__global__ void first_word(int *out, const int *in, int by) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 1024);
    BULK_LOAD(packet, in, 1024, &full);
  }
  __syncthreads();
  WAIT(&full, 0);
  packet[threadIdx.x + 4] += by;
  __syncthreads();
  if (threadIdx.x / 32 == 1) {
    ELECTED(sends);
    if (sends) {
      BULK_STORE(out, packet, 16);
      BULK_DONE();
    }
  }
  out[256 + threadIdx.x] = packet[(threadIdx.x ^ 1) + 4];
}

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
  FENCE();
  __syncthreads();
  if (threadIdx.x / 32 == 1) {
    ELECTED(sends);
    if (sends) {
      BULK_STORE(out, packet, 1024);
      BULK_DONE();
    }
  }
}

// Another warp has the fence, between two barriers that the sender comes to as well.
__global__ void fenced_by_another_warp(int *out, const int *in, int by, int n) {
  __shared__ alignas(128) int packet[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    if (threadIdx.x == 0) {
      EXPECT(&full, 1024);
      BULK_LOAD(packet, in + i * 256, 1024, &full);
      WAIT(&full, i & 1);
      packet[0] = by;
      asm volatile("barrier.sync 1;" ::: "memory");
      asm volatile("barrier.sync 2;" ::: "memory");
      BULK_STORE(out + i * 256, packet, 1024);
      BULK_DONE();
    } else {
      asm volatile("barrier.sync 1;" ::: "memory");
      FENCE();
      asm volatile("barrier.sync 2;" ::: "memory");
    }
  }
}
