// why: cooperative groups that split warps: tiles, coalesced lanes, labels; their masks come from match and activemask
// ptxcheck-args: -W potential:PTX403 -W potential:PTX406

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void tiles_of_eight(int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int value = out[threadIdx.x];
  for (int offset = 4; offset > 0; offset /= 2) value += tile.shfl_xor(value, offset);
  tile.sync();
  if (tile.any(value > 3)) value = tile.shfl(value, 7);
  out[threadIdx.x] = value + tile.ballot(value > 5);
}

__global__ void tiles_of_sixteen(int *out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int value = tile.shfl_up(out[threadIdx.x], 1);
  if (tile.meta_group_rank() % 2 == 0) value += tile.shfl_down(value, 8);
  out[threadIdx.x] = value;
}

__global__ void tiles_of_a_warp(int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int value = out[threadIdx.x];
  if (warp.meta_group_rank() == 0) value = warp.shfl(value, 3);
  warp.sync();
  out[threadIdx.x] = value;
}

__global__ void coalesced(int *out, const int *in) {
  int value = in[threadIdx.x];
  if (value > 0) {
    auto lanes = cg::coalesced_threads();
    int sum = value;
    for (int offset = lanes.size() / 2; offset > 0; offset /= 2) sum += lanes.shfl_down(sum, offset);
    lanes.sync();
    out[threadIdx.x] = lanes.any(sum > 3);
  }
}

__global__ void labeled(int *bins, const int *in) {
  auto lanes = cg::labeled_partition(cg::coalesced_threads(), in[threadIdx.x]);
  if (lanes.thread_rank() == 0) atomicAdd(&bins[in[threadIdx.x]], static_cast<int>(lanes.size()));
  lanes.sync();
}

__global__ void by_predicate(int *out) {
  auto lanes = cg::binary_partition(cg::coalesced_threads(), out[threadIdx.x] > 0);
  int value = lanes.shfl(out[threadIdx.x], 0);
  out[threadIdx.x] = value;
}
