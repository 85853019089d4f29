// targets: sm_90 sm_120
// compilers: nvcc
// why: asynchronous copies as the libraries of the toolkit write them

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda_pipeline.h>

namespace groups = cooperative_groups;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// No fence at all, and the copy is before what expects it.
__global__ void by_a_group(int *out, const int *in) {
  __shared__ alignas(16) int tile[256];
  __shared__ barrier ready;
  auto block = groups::this_thread_block();
  if (block.thread_rank() == 0) init(&ready, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof(tile)), ready);
  ready.arrive_and_wait();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The example of the programming guide.
__global__ void in_and_out(int *data) {
  __shared__ alignas(16) int tile[256];
  __shared__ barrier ready;
  if (threadIdx.x == 0) {
    init(&ready, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, data, cuda::aligned_size_t<16>(sizeof(tile)), ready);
    token = cuda::device::barrier_arrive_tx(ready, 1, sizeof(tile));
  } else {
    token = ready.arrive();
  }
  ready.wait(std::move(token));
  tile[threadIdx.x] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data, tile, sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  }
}

__global__ void tensor(const __grid_constant__ CUtensorMap map, int *out) {
  __shared__ alignas(128) int tile[8][32];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(tile));
    const int32_t at[2] = {0, 8};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}

__global__ void of_a_group(int *out, const int *in) {
  __shared__ int tile[256];
  auto block = groups::this_thread_block();
  groups::memcpy_async(block, tile, in, sizeof(tile));
  groups::wait(block);
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void with_a_pipeline(int *out, const int *in, int rounds) {
  __shared__ int stages[2][256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  pipe.producer_acquire();
  cuda::memcpy_async(block, stages[0], in, sizeof(stages[0]), pipe);
  pipe.producer_commit();
  for (int i = 1; i <= rounds; i++) {
    if (i < rounds) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stages[i & 1], in + i * 256, sizeof(stages[0]), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stages[(i - 1) & 1][threadIdx.x ^ 1];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void with_primitives(int4 *out, const int4 *in, int rounds) {
  __shared__ int4 stages[2][256];
  __pipeline_memcpy_async(&stages[0][threadIdx.x], in + threadIdx.x, 16);
  __pipeline_commit();
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (i + 1 < rounds)
      __pipeline_memcpy_async(&stages[(i + 1) & 1][threadIdx.x], in + (i + 1) * 256 + threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += stages[i & 1][threadIdx.x ^ 1].x;
    __syncthreads();
  }
  out[threadIdx.x].x = sum;
}
