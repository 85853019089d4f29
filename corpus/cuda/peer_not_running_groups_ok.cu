// targets: sm_90 sm_120
// compilers: nvcc
// ptxcheck-args: -W potential:PTX711
// why: the same as peer_not_running_ok with cooperative groups

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define CLUSTER(n) __cluster_dims__(n, 1, 1)

__global__ void CLUSTER(4) groups(const int *in, int *out) {
  __shared__ int number[128];
  cg::cluster_group cluster = cg::this_cluster();
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  int *there = cluster.map_shared_rank(number, cluster.block_rank() ^ 1);
  out[blockIdx.x * 128 + threadIdx.x] = there[threadIdx.x];
  cluster.sync();
}

__global__ void CLUSTER(4) groups_split(const int *in, int *out) {
  __shared__ int number[128];
  cg::cluster_group cluster = cg::this_cluster();
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(token));
  int *there = cluster.map_shared_rank(number, (cluster.block_rank() + 1) % 4);
  int got = there[threadIdx.x];
  auto last = cluster.barrier_arrive();
  out[blockIdx.x * 128 + threadIdx.x] = got;
  cluster.barrier_wait(std::move(last));
}

// A histogram that is spread over the cluster.
__global__ void CLUSTER(2) spread_histogram(const int *in, int *out, int count) {
  __shared__ int counts[64];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) counts[i] = 0;
  cluster.sync();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int bin = in[i] & 127;
    atomicAdd(cluster.map_shared_rank(counts, bin / 64) + bin % 64, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) out[cluster.block_rank() * 64 + i] = counts[i];
}

__global__ void CLUSTER(1) alone(const int *in, int *out) {
  __shared__ int number[128];
  cg::cluster_group cluster = cg::this_cluster();
  number[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = cluster.map_shared_rank(number, 0)[127 - threadIdx.x];
}
