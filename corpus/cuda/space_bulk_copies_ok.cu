// why: tensor and bulk copies: a map that is a kernel parameter, barriers and tiles in shared memory
// ptxcheck-args: -W potential
// compilers: nvcc
// targets: sm_90 sm_120

#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void tensor_tile(const __grid_constant__ CUtensorMap map, int *out, int x, int y) {
  __shared__ alignas(128) int tile[8][32];
  __shared__ barrier ready;
  if (threadIdx.x == 0) {
    init(&ready, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    const int coordinates[2] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, coordinates,
                              cuda::device::barrier_native_handle(ready));
    token = cuda::device::barrier_arrive_tx(ready, 1, sizeof(tile));
  } else {
    token = ready.arrive();
  }
  ready.wait(std::move(token));
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}

__global__ void bulk_tile(const int *in, int *out) {
  __shared__ alignas(16) int tile[256];
  __shared__ barrier ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::memcpy_async(tile, in, cuda::aligned_size_t<16>(sizeof(tile)), ready);
  }
  ready.arrive_and_wait();
  tile[threadIdx.x] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  }
}
