// why: a pointer that is moved from one window into another by a difference of addresses points where it was moved to

#include <stddef.h>
#include <stdint.h>

__device__ float table[64];

__device__ float shared_at(const void *pointer) {
  return *(const float *)__cvta_shared_to_generic(__cvta_generic_to_shared(pointer));
}

__device__ __noinline__ char *moved(char *pointer, ptrdiff_t by) { return pointer + by; }
__device__ __noinline__ float *moved_by_elements(float *pointer, ptrdiff_t by) { return pointer + by; }
__device__ __noinline__ float read(const float *pointer, ptrdiff_t by) { return shared_at(pointer + by); }

__global__ void bytes(float *out, const float *in, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  ptrdiff_t by = (const char *)tile - (const char *)in;
  out[threadIdx.x] = shared_at((const char *)(in + n) + by);
}

__global__ void elements(float *out, const float *in, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = shared_at(table + n + (tile - table));
}

__global__ void branchless(float *out, const float *in, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  uintptr_t from = (uintptr_t)table, to = (uintptr_t)tile, is_shared = n > 0;
  uintptr_t by_factor = from + (to - from) * is_shared;
  uintptr_t by_mask = from ^ ((from ^ to) & -is_shared);
  uintptr_t by_choice = from + (n > 0 ? to - from : 0);
  if (n > 0) {
    out[0] = shared_at((const void *)by_factor);
    out[1] = shared_at((const void *)by_mask);
    out[2] = shared_at((const void *)by_choice);
  }
}

__global__ void through_calls(float *out, const float *in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[0] = shared_at(moved((char *)table, (char *)tile - (char *)table));
  out[1] = shared_at(moved_by_elements(table, tile - table));
  out[2] = read(table, tile - table);
}
