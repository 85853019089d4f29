// why: asynchronous copies, barriers in shared memory, and groups as the libraries write them
// ptxcheck-args: -W potential
// compilers: nvcc

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace groups = cooperative_groups;

__global__ void group_copy(int *out, const int *in) {
  __shared__ int tile[256];
  groups::thread_block block = groups::this_thread_block();
  groups::memcpy_async(block, tile, in, sizeof(tile));
  groups::wait(block);
  auto warp = groups::tiled_partition<32>(block);
  int sum = groups::reduce(warp, tile[block.thread_rank()], groups::plus<int>());
  if (warp.thread_rank() == 0) atomicAdd(out, sum);
}

__global__ void barrier_copy(int *out, const int *in) {
  __shared__ int tile[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(tile + threadIdx.x, in + threadIdx.x, sizeof(int), ready);
  ready.arrive_and_wait();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void pipelined(int *out, const int *in) {
  __shared__ int tile[2][256];
  auto pipe = cuda::make_pipeline();
  for (int step = 0; step < 2; ++step) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[step][threadIdx.x], &in[step * 256 + threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[step * 256 + threadIdx.x] = tile[step][threadIdx.x];
    pipe.consumer_release();
  }
}
