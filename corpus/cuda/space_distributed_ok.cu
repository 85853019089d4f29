// why: distributed shared memory as libcu++ addresses it: `cvta.to.shared` of what `mapa` made, for `.shared::cluster`
// ptxcheck-args: -W potential
// compilers: nvcc
// targets: sm_90 sm_120

#include <cooperative_groups.h>
#include <cuda/ptx>

namespace groups = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void __cluster_dims__(4) arrive_elsewhere(int *out) {
  __shared__ uint64_t barrier;
  __shared__ int data[32];
  groups::cluster_group cluster = groups::this_cluster();
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 1);
  cluster.sync();
  uint64_t *other = cluster.map_shared_rank(&barrier, 1);
  if (threadIdx.x == 0 && cluster.block_rank() == 0) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, other, 1);
    ptx::st_async(cluster.map_shared_rank(data, 1), 5, other);
  }
  cluster.sync();
  out[threadIdx.x] = data[threadIdx.x];
}

__device__ uint32_t mapped(const void *object, int rank) {
  uint32_t own = static_cast<uint32_t>(__cvta_generic_to_shared(object)), address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(rank));
  return address;
}

__global__ void __cluster_dims__(4) arrive_in_asm(int rank) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 2);
  groups::this_cluster().sync();
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&barrier, rank)) : "memory");
  void *other = groups::this_cluster().map_shared_rank(&barrier, rank);
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(other));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
  groups::this_cluster().sync();
}
