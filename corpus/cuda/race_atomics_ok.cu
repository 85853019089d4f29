// why: atomics on shared memory, and plain accesses to it only across a barrier

#include <climits>

// right: cleared, barrier, counted by atomics, barrier, read.
__global__ void __launch_bounds__(256) histogram(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&count[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}

// right: thread 0 sets the start value before a barrier, all compare by atomics, all read after one.
__global__ void largest(int *out, const int *in, int n) {
  __shared__ int top;
  if (threadIdx.x == 0) top = INT_MIN;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicMax(&top, in[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] - top;
}

// right: bits by atomicOr, words read after a barrier.
__global__ void __launch_bounds__(128) bit_set(unsigned *out, const unsigned *in, int n) {
  __shared__ unsigned bits[128];
  bits[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128) atomicOr(&bits[in[i] >> 5 & 127], 1u << (in[i] & 31));
  __syncthreads();
  out[threadIdx.x] = __popc(bits[127 - threadIdx.x]);
}

// right: plain accesses are done under a lock, with a fence after taking it and before giving it back.
__global__ void __launch_bounds__(128) under_a_lock(int2 *out, const int *in) {
  __shared__ int lock;
  __shared__ int2 best;
  if (threadIdx.x == 0) lock = 0, best = make_int2(INT_MIN, -1);
  __syncthreads();
  int v = in[threadIdx.x];
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      if (v > best.x) best = make_int2(v, threadIdx.x);
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = best;
}
