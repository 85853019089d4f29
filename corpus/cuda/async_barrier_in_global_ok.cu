// targets: sm_90 sm_120
// compilers: nvcc
// why: a barrier of the library in global memory, which another kernel makes, is used by ordinary atomics: its mbarrier code is not taken

#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void make(Barrier *all, int threads) { new (all) Barrier(threads); }

__device__ __noinline__ void meet(Barrier *all) { all->arrive_and_wait(); }

// Through a function that other kernels call with one in shared memory.
__global__ void through_a_function(Barrier *all, int *data) {
  data[threadIdx.x] *= 2;
  meet(all);
  data[threadIdx.x + 256] = data[255 - threadIdx.x];
}

__global__ void in_shared_memory(int *data) {
  __shared__ Barrier all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  data[threadIdx.x] *= 2;
  meet(&all);
  data[threadIdx.x + 256] = data[255 - threadIdx.x];
}

// In the kernel itself.
__global__ void in_the_kernel(Barrier *all, int *data) {
  data[threadIdx.x] *= 2;
  all->arrive_and_wait();
  data[threadIdx.x + 256] = data[255 - threadIdx.x];
}

// In the object that the launch passes.
struct Team {
  Barrier *all;
  int *data;
};

__global__ void in_an_object(Team team) {
  team.data[threadIdx.x] *= 2;
  auto token = team.all->arrive();
  team.all->wait(std::move(token));
  team.data[threadIdx.x + 256] = team.data[255 - threadIdx.x];
}

// A test by hand, in the kernel and in a function.
__device__ __forceinline__ unsigned long long *word(Barrier *all) { return reinterpret_cast<unsigned long long *>(all); }

__global__ void tested_by_hand(Barrier *all, int *data) {
  data[threadIdx.x] *= 2;
  if (__isShared(all))
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(all))) : "memory");
  else
    atomicAdd(word(all), 1ull);
}
