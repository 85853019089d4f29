// why: groups of lanes shuffle with the full mask where they have 32 lanes, which part of a warp never has
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

// Half of the lanes ask which of them agree.
__global__ void parts_of_tiles(int *out, const int *labels) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int value = threadIdx.x;
  if (threadIdx.x % 32 >= 16) {
    auto alike = cg::labeled_partition(tile, labels[threadIdx.x]);
    value = alike.shfl_up(value, 1);
    auto large = cg::binary_partition(tile, labels[threadIdx.x] > 3);
    value += large.shfl_down(value, 1);
  }
  out[threadIdx.x] = value;
}

__global__ void part_of_a_warp(int *out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int value = threadIdx.x;
  auto low = cg::binary_partition(tile, threadIdx.x % 32 < 5);
  if (threadIdx.x % 32 < 5)
    value = low.shfl_up(value, 1);
  out[threadIdx.x] = value;
}

__global__ void answers(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x % 32 >= 16) {
    if (__ballot_sync(0xffff0000, value > 2) == 0xffffffff)
      value = __shfl_sync(0xffffffff, value, 1);
    if (__popc(__match_any_sync(0xffff0000, value)) == 32)
      value = __shfl_xor_sync(0xffffffff, value, 1);
  }
  out[threadIdx.x] = value;
}
