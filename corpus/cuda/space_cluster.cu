// why: an address in another CTA's shared memory needs .shared::cluster; what a function has mapped (debug builds) may be the own
// compilers: nvcc
// targets: sm_90 sm_120

#include <cooperative_groups.h>

namespace groups = cooperative_groups;

__device__ unsigned mapped(const void *p, unsigned rank) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(p)), remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

__global__ void own_memory_instead(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(mapped(tile, 1)));  //~[O3] PTX208
  *out = value;
}

__global__ void neighbour(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(mapped(tile, 1)));  //~ PTX711
  groups::cluster_group cluster = groups::this_cluster();
  cluster.sync();
  *out = value + *cluster.map_shared_rank(tile, 1);
  cluster.sync();
}
