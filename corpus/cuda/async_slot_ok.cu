// targets: sm_100a
// why: members of one variable: one is filled by cp.async, the other by tcgen05.alloc, an arrival, or nobody

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define CP16(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define ALLOC(slot, columns) \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(SHARED(slot)), "n"(columns) : "memory")
#define DEALLOC(tmem, columns) \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tmem), "n"(columns))

struct Slot_in_front {
  unsigned tmem;
  alignas(128) int tile[1024];
};

struct Slot_behind {
  alignas(128) int tile[1024];
  unsigned tmem[2];
};

__global__ void in_front(int *out, const int *in) {
  __shared__ Slot_in_front s;
  if (threadIdx.x < 32) ALLOC(&s.tmem, 32);
  CP16(s.tile + 4 * threadIdx.x, in + 4 * threadIdx.x);
  COMMIT();
  __syncthreads();
  unsigned tmem = s.tmem;
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = s.tile[1023 - threadIdx.x];
  if (threadIdx.x < 32) DEALLOC(tmem, 32);
}

__global__ void behind(int *out, const int *in) {
  __shared__ Slot_behind s;
  if (threadIdx.x < 32) {
    ALLOC(s.tmem, 64);
    ALLOC(s.tmem + 1, 32);
  }
  CP16(s.tile + 4 * threadIdx.x, in + 4 * threadIdx.x);
  COMMIT();
  __syncthreads();
  unsigned first = s.tmem[0], second = s.tmem[1];
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = s.tile[1023 - threadIdx.x];
  if (threadIdx.x < 32) {
    DEALLOC(first, 64);
    DEALLOC(second, 32);
  }
}
