// targets: sm_90 sm_120
// compilers: nvcc
// why: groups of a block: library code that waits as a barrier of the block does

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// right: group.sync() is a block barrier, on both sides of the reads.
__global__ void group_sync(int *out, const int *in, int tiles) {
  extern __shared__ int tile[];
  auto block = cg::this_thread_block();
  int rank = block.thread_rank(), size = block.size(), sum = 0;
  for (int k = 0; k < tiles; k++) {
    tile[rank] = in[k * size + rank];
    block.sync();
    sum += tile[size - 1 - rank];
    cg::sync(block);
  }
  out[rank] = sum;
}

// right: arrival, then work of its own, then the wait, which is as good as a barrier.
__global__ void __launch_bounds__(128) arrive_early(int *out, const int *in) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  int t = block.thread_rank();
  s[t] = in[t];
  auto token = block.barrier_arrive();
  int own = in[t + 128] * 3;
  block.barrier_wait(std::move(token));
  out[t] = own + s[127 - t];
}
