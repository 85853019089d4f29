// targets: sm_90 sm_120
// compilers: nvcc
// why: the same as peer_not_running with cooperative groups

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define CLUSTER(n) __cluster_dims__(n, 1, 1)

// wrong: the same with cooperative groups.
__global__ void CLUSTER(4) groups(const int *in, int *out) {
  __shared__ int number[128];
  cg::cluster_group cluster = cg::this_cluster();
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  int *there = cluster.map_shared_rank(number, cluster.block_rank() ^ 1);
  out[blockIdx.x * 128 + threadIdx.x] = there[threadIdx.x];  //~[O3] PTX711
}
