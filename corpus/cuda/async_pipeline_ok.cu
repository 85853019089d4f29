// targets: sm_90 sm_120
// compilers: nvcc
// why: a pipeline of one thread has no mbarrier: the bulk copies of the library, which unoptimised code keeps, are not made

#include <cuda/pipeline>

__global__ void of_a_thread(int *out, const int4 *in) {
  __shared__ int4 tile[64];
  unsigned lane = threadIdx.x % 32;
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[lane], &in[lane], sizeof(int4), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  __syncwarp();
  out[threadIdx.x] = tile[lane ^ 1].x;
  pipe.consumer_release();
}

// Two stages, in rounds.
__global__ void in_two_stages(int *out, const int *in, int n) {
  __shared__ int tile[2][256];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[0][threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
  pipe.producer_commit();
  for (int i = 0; i < n; i++) {
    pipe.producer_acquire();
    if (i + 1 < n) cuda::memcpy_async(&tile[(i + 1) & 1][threadIdx.x], &in[(i + 1) * 256 + threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    out[i * 256 + threadIdx.x] = tile[i & 1][threadIdx.x];
    pipe.consumer_release();
  }
}
