// ptxcheck-args: -W potential
// why: tiles by rank, optimised or not: in unoptimised code, constructors fill the tile and the block's sides through pointers
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void tile_right(int *out, const int *in) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = in[threadIdx.x];
  for (int i = 4; i > 0; i /= 2) v += tile.shfl_down(v, i);
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = v;
}

__global__ void tile_in_part(int *out, const int *in) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = in[threadIdx.x];
  if (tile.thread_rank() < 4) v += tile.shfl_down(v, 1); //~[!ir-G] PTX401
  //~^[ir-G] PTX402?
  out[threadIdx.x] = v;
}

__global__ void tile_by_meta(int *out, const int *in) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = in[threadIdx.x];
  if (tile.meta_group_rank() == 1) v += tile.shfl_xor(v, 1); //~[clang-G] PTX402?
  out[threadIdx.x] = v;
}

__global__ void tile_by_meta_wrong(int *out, const int *in) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = in[threadIdx.x];
  if (tile.meta_group_rank() % 4 == 1) v += __shfl_xor_sync(0xffffffffu, v, 1); //~[!ir-G] PTX401
  //~^[ir-G] PTX402?
  out[threadIdx.x] = v;
}

__global__ void tile_of_rows(int *out, const int *in) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = in[block.thread_rank()];
  for (int i = 8; i > 0; i /= 2) v += tile.shfl_xor(v, i);
  if (tile.thread_rank() == 0) out[block.thread_rank() + threadIdx.y] = v;
}

__global__ void coalesced(int *out, const int *in) {
  int v = in[threadIdx.x];
  if (v > 3) {
    auto group = cg::coalesced_threads();
    int base = 0;
    if (group.thread_rank() == 0) base = atomicAdd(out, (int)group.size());
    base = group.shfl(base, 0);
    out[base + group.thread_rank()] = v;
  }
}
