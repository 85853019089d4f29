// why: indexes that have room in 32 bits, or are computed in 64: `ptxcheck capacity` shows none of them
// (tests/tests/program/capacity.rs)

#include <cstdint>

using Wide = int64_t;

__global__ void own_number(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0;
}

__global__ void own_number_in_loop(float *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 0;
}

__global__ void own_number_wide(float *out, Wide n) {
  Wide i = blockIdx.x * (Wide)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0;
}

__global__ void compared_wide(float *out, Wide n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((Wide)i < n) out[i] = 0;
}

__global__ void wide_rows(float *out, int columns) {
  Wide row = blockIdx.x;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[row * columns + i] = 0;
}

__global__ void widened_factor(float *out, int columns) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[(Wide)blockIdx.x * columns + i] = 0;
}

__global__ void widened_second_factor(float *out, int columns) {
  out[blockIdx.x * (Wide)columns + threadIdx.x] = 0;
}

__global__ void size_t_stride(float *out, size_t stride) { out[blockIdx.x * stride + threadIdx.x] = 0; }

__global__ void strides_in_y(float *out) { out[blockIdx.y * 1024 + threadIdx.x] = 0; }

__global__ void strides_in_z(float *out) { out[blockIdx.z * 32768 + threadIdx.x] = 0; }

__global__ void thread_products(float *out) { out[threadIdx.y * 1024 + threadIdx.x] = 0; }

__global__ void block_sides(float *out) { out[threadIdx.y * blockDim.x + threadIdx.x] = 0; }

__global__ void volume_of_block(float *out) {
  out[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] = 0;
}

__global__ void masked(float *out, const int *in) { out[(in[threadIdx.x] & 1023) * 4096] = 0; }

__global__ void remainder(float *out, const unsigned *in) { out[in[threadIdx.x] % 1000 * 2000] = 0; }

__global__ void hashed(float *out, const unsigned *in, unsigned buckets) {
  out[in[threadIdx.x] * 2654435761u % buckets] = 0;
}

__global__ void hashed_bits(float *out, const unsigned *in) { out[in[threadIdx.x] * 2654435761u >> 20] = 0; }

__global__ void hashed_mask(float *out, const unsigned *in, unsigned mask) {
  out[(in[threadIdx.x] * 2654435761u ^ in[32 + threadIdx.x]) & mask & 0xffff] = 0;
}

__global__ void random_numbers(float *out, const unsigned *in, int n) {
  unsigned state = in[threadIdx.x];
  for (int i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    out[state >> 16] = state;
  }
}

__global__ void smallest(float *out, const int *in) { out[min(in[threadIdx.x], 4096) * 8192] = 0; }

__global__ void clamped(float *out, const int *in) { out[min(max(in[threadIdx.x], 0), 255) * 512] = 0; }

__global__ void small_numbers(float *out, const unsigned char *in) { out[in[threadIdx.x] * 4096 + threadIdx.x] = 0; }

__global__ void short_numbers(float *out, const unsigned short *in) { out[in[threadIdx.x] * 1024] = 0; }

__global__ void parameter_alone(float *out, int at) { out[at] = out[at + 1]; }

__global__ void list(float *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[in[i]] = 0;
}

__global__ void list_and_offset(float *out, const int *in) { out[in[threadIdx.x] + threadIdx.x] = 0; }

__global__ void small_table(float *out, int row) {
  if (row < 64) out[row * 128 + threadIdx.x] = 0;
}

__global__ void few_blocks(float *out) {
  if (blockIdx.x < 1000) out[blockIdx.x * 1024 + threadIdx.x] = 0;
}

__global__ void fixed_loop(float *out) {
  for (int i = 0; i < 100; i++) out[i * 1024 + threadIdx.x] = 0;
}

__global__ void pairs(float2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float2(0, 0);
}

__global__ void large_elements(double4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i].z = 0;
}

__global__ void in_shared_memory(float *out, int pitch) {
  __shared__ float tile[1024];
  tile[threadIdx.y * pitch + threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void warps(float *out) { out[threadIdx.x / 32 * 4096 + threadIdx.x % 32] = 0; }
