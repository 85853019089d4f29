// targets: sm_90 sm_100a
// why: a function that kernels share has operations that one of them never asks for, and that kernel lacks what belongs to them

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(bar)) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
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
enum class Path { Plain, Bulk, Both };

// A switch: the plain kernel has no barrier.
__device__ __noinline__ void bring(int *tile, const int *in, Barrier *full, Path path) {
  switch (path) {
    case Path::Plain: tile[threadIdx.x] = in[threadIdx.x]; break;
    case Path::Bulk:
    case Path::Both:
      if (threadIdx.x == 0) {
        EXPECT(full, 1024);
        BULK_LOAD(tile, in, 1024, full);
      }
      WAIT(full, 0);
      if (path == Path::Both) tile[threadIdx.x] += 1;
  }
  __syncthreads();
}

__global__ void brings_plainly(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  bring(tile, in, nullptr, Path::Plain);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void brings_by_copy(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  bring(tile, in, &full, Path::Bulk);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// Whether there is a barrier is the mode.
__device__ __noinline__ void arrive_if(Barrier *done) {
  if (done != nullptr) ARRIVE(done);
}

__device__ __noinline__ void step(int *data, Barrier *done) {
  data[threadIdx.x] *= 2;
  arrive_if(done);
}

__global__ void steps_alone(int *data) { step(data, nullptr); }

__global__ void steps_with_others(int *data) {
  __shared__ Barrier done;
  if (threadIdx.x == 0) INIT(&done, blockDim.x);
  __syncthreads();
  step(data, &done);
  WAIT(&done, 0);
  data[threadIdx.x + 256] = data[255 - threadIdx.x];
}

// The launch says which: the kernel has its barrier where it asks for one, by a function of its own.
__device__ __noinline__ void make(Barrier *bar, bool uses) {
  if (uses && threadIdx.x == 0) INIT(bar, 1);
  __syncthreads();
}

__global__ void asked_by_the_launch(int *out, const int *in, Path path) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  make(&full, path != Path::Plain);
  bring(tile, in, &full, path);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// Sizes: what is no multiple of 16 goes by ordinary stores.
__device__ __noinline__ void put(char *out, char *tile, unsigned bytes) {
  if (bytes & 15) {
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
  } else if (threadIdx.x == 0) {
    BULK_STORE(out, tile, bytes);
    BULK_DONE();
  }
}

__global__ void puts_an_odd_size(char *out, char value) {
  __shared__ alignas(128) char tile[256];
  tile[threadIdx.x] = value;
  __syncthreads();
  put(out, tile, 100);
}

__global__ void puts_an_even_size(char *out, char value) {
  __shared__ alignas(128) char tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  put(out, tile, 256);
}

// Through a second function, which passes the mode on.
__device__ __noinline__ void finish(int *out, int *tile, bool in_one_copy) {
  if (in_one_copy) {
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 1024);
      BULK_DONE();
    }
  } else {
    out[threadIdx.x] = tile[threadIdx.x];
  }
}

__device__ __noinline__ void scale_and_finish(int *out, int *tile, int by, bool in_one_copy) {
  tile[threadIdx.x] *= by;
  if (in_one_copy) FENCE();
  __syncthreads();
  finish(out, tile, in_one_copy);
}

__global__ void finishes_by_stores(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  scale_and_finish(out, tile, 3, false);
}

__global__ void finishes_by_a_copy(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  scale_and_finish(out, tile, 3, true);
}

// Copies whose bytes nobody expects, in rounds of which this kernel makes none.
__device__ __noinline__ void prefetch(int *tile, const int *in, Barrier *full, int rounds) {
  if (threadIdx.x == 0)
    for (int i = 0; i < rounds; i++) BULK_LOAD(tile + 256 * i, in + 256 * i, 1024, full);
}

__global__ void prefetches_nothing(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  __shared__ Barrier full;
  if (threadIdx.x == 0) INIT(&full, blockDim.x);
  __syncthreads();
  prefetch(tile, in, &full, 0);
  tile[threadIdx.x] = in[threadIdx.x];
  ARRIVE(&full);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void prefetches_two(int *out, const int *in) {
  __shared__ alignas(128) int tile[512];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 2048);
  }
  __syncthreads();
  prefetch(tile, in, &full, 2);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[511 - threadIdx.x];
}

#if defined __CUDA_ARCH_SPECIFIC__ && __CUDA_ARCH_SPECIFIC__ == 1000
#define ALLOC(slot) \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(SHARED(slot)) : "memory")
#define DEALLOC(tmem) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(tmem))
#else
#define ALLOC(slot) *(slot) = 0
#define DEALLOC(tmem) asm volatile("" ::"r"(tmem))
#endif

__device__ __noinline__ void take(unsigned *slot, bool uses_tensor_memory, int *out) {
  if (uses_tensor_memory)
    ALLOC(slot);
  else
    *out = 1;
}

__global__ void takes_tensor_memory(int *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) {
    take(&slot, true, out);
    __syncwarp();
    DEALLOC(*(volatile unsigned *)&slot);
  }
}

__global__ void takes_none(int *out) {
  __shared__ unsigned slot;
  if (threadIdx.x < 32) take(&slot, false, out);
}

// Two conditions in one, of which the size decides one.
__device__ __noinline__ void head_and_rest(char *out, char *tile, unsigned bytes) {
  unsigned head = bytes & ~15u;
  if (head != 0 && threadIdx.x == 0) {
    BULK_STORE(out, tile, head);
    BULK_DONE();
  }
  for (unsigned i = head + threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
}

__global__ void only_a_rest(char *out, char value) {
  __shared__ alignas(128) char tile[256];
  tile[threadIdx.x] = value;
  __syncthreads();
  head_and_rest(out, tile, 12);
}

__global__ void a_head_and_a_rest(char *out, char value) {
  __shared__ alignas(128) char tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  head_and_rest(out, tile, 250);
}

// The mode in an object that is passed by reference, of which a member says whether there is a barrier.
struct Stage {
  int *tile;
  Barrier *full;
  bool by_copy;
};

__device__ __noinline__ void load(const Stage &stage, const int *in) {
  if (stage.by_copy) {
    if (threadIdx.x == 0) {
      EXPECT(stage.full, 1024);
      BULK_LOAD(stage.tile, in, 1024, stage.full);
    }
    WAIT(stage.full, 0);
  } else {
    stage.tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
  }
}

__global__ void loads_plainly(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  Stage stage{tile, nullptr, false};
  load(stage, in);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void loads_by_copy(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  Stage stage{tile, &full, true};
  load(stage, in);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

// A tensor map by value, which lies on the stack, for a function that this kernel asks for no tensor copy.
struct alignas(64) TensorMap {
  char bytes[128];
};

__device__ __noinline__ void bring_by_map(int *tile, const int *in, const TensorMap *map, Barrier *full, bool by_map) {
  if (by_map) {
    if (threadIdx.x == 0) {
      EXPECT(full, 1024);
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(
                       SHARED(tile)), "l"(map), "r"(0), "r"(SHARED(full)) : "memory");
    }
    WAIT(full, 0);
  } else {
    tile[threadIdx.x] = in[threadIdx.x] + map->bytes[threadIdx.x & 127];
    __syncthreads();
  }
}

__global__ void leaves_the_map_alone(int *out, const int *in, TensorMap map) {
  __shared__ alignas(128) int tile[256];
  map.bytes[0] = 1;
  bring_by_map(tile, in, &map, nullptr, false);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
