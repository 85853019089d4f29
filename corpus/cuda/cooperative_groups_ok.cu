// why: cooperative groups compute the masks of tiles and of coalesced lanes themselves

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void tile_sum(int *out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int value = out[threadIdx.x];
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  tile.sync();
  if (tile.thread_rank() == 0) out[threadIdx.x / 16] = value;
}

__global__ void coalesced_count(int *counter, const int *in) {
  if (in[threadIdx.x] > 0) {
    auto lanes = cg::coalesced_threads();
    if (lanes.thread_rank() == 0) atomicAdd(counter, static_cast<int>(lanes.size()));
  }
}
