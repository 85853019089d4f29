// why: a coalesced group shuffles with the full mask where it has 32 lanes, which part of a warp never is
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void leader(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 == 0) {
    cg::coalesced_group here = cg::coalesced_threads();
    value = here.shfl_down(value, 1) + here.shfl(value, 0);
  }
  out[threadIdx.x] = value;
}

__global__ void half(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    cg::coalesced_group here = cg::coalesced_threads();
    value = here.shfl_up(value, 1);
    if (here.all(value))
      value += here.size();
    here.sync();
  }
  out[threadIdx.x] = value;
}

// What such a group does, by hand.
__global__ void by_mask(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 >= 8) {
    if (__activemask() == 0xffffffff)
      value = __shfl_sync(0xffffffff, value, 0);
    if (__popc(__activemask()) == 32)
      value += __shfl_xor_sync(0xffffffff, value, 1);
  }
  out[threadIdx.x] = value;
}

struct Here {
  unsigned mask, count;
};

__device__ __noinline__ void ask(Here *here) {
  here->mask = __activemask();
  here->count = __popc(here->mask);
}

__global__ void through_memory(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 4) {
    Here here;
    ask(&here);
    if (here.count == 32)
      value = __shfl_sync(0xffffffff, value, 0);
  }
  out[threadIdx.x] = value;
}
