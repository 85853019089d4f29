// why: rows of matrices at right places, some of which look wrong

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

#define LDMATRIX_X1(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")
#define LDMATRIX_X2(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")
#define LDMATRIX_X4(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")

// right: rows of 24 halves begin at multiples of 48 bytes.
__global__ void __launch_bounds__(32) rows_of_forty_eight_bytes(uint4 *out, const half *in) {
  __shared__ __align__(16) half tile[32][24];
  for (int i = threadIdx.x; i < 32 * 16; i += 32) tile[i / 16][i % 16] = in[i];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, tile[threadIdx.x % 32]);
  out[threadIdx.x] = a;
}

// right: the second half of each row.
__global__ void __launch_bounds__(32) second_half(uint4 *out, const half *in) {
  __shared__ __align__(16) half tile[32][16];
  for (int i = threadIdx.x; i < 32 * 16; i += 32) tile[i / 16][i % 16] = in[i];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, &tile[threadIdx.x % 32][8]);
  out[threadIdx.x] = a;
}

// right: a number of rows that is not known.
__global__ void __launch_bounds__(128) at_any_row(uint4 *out, const uint4 *in, int at) {
  __shared__ uint4 tile[512];
  for (int i = threadIdx.x; i < 512; i += 128) tile[i] = in[i];
  __syncthreads();
  uint4 a;
  LDMATRIX_X4(a, tile + at % 8 * 32 + threadIdx.x % 32);
  out[threadIdx.x] = a;
}

// right: the last rows of the tile.
__global__ void __launch_bounds__(32) last_rows(unsigned *out, const uint4 *in) {
  __shared__ uint4 tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  unsigned a;
  LDMATRIX_X1(a, &tile[24 + threadIdx.x % 8]);
  out[threadIdx.x] = a;
}

// right: rows in the reverse order.
__global__ void __launch_bounds__(32) reversed_rows(uint4 *out, const uint4 *in) {
  __shared__ uint4 tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, &tile[31 - threadIdx.x % 32]);
  out[threadIdx.x] = a;
}

// right: exchanged columns.
__global__ void __launch_bounds__(32) exchanged_columns(uint4 *out, const uint4 *in) {
  __shared__ uint4 tile[32][4];
  for (int i = threadIdx.x; i < 128; i += 32) tile[i / 4][i % 4 ^ i / 4 % 4] = in[i];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, &tile[threadIdx.x][1 ^ threadIdx.x % 4]);
  out[threadIdx.x] = a;
}

// right: two tiles in dynamic shared memory.
__global__ void __launch_bounds__(64) in_dynamic_memory(uint4 *out, const uint4 *in, int tiles) {
  extern __shared__ uint4 memory[];
  for (int i = threadIdx.x; i < 64 * tiles; i += 64) memory[i] = in[i];
  __syncthreads();
  uint4 a;
  LDMATRIX_X4(a, memory + (tiles - 1) * 64 + threadIdx.x);
  out[threadIdx.x] = a;
}

// right: sixteen rows, and lanes 16 to 31 name them again.
__global__ void __launch_bounds__(32) named_twice(uint2 *out, const uint4 *in) {
  __shared__ uint4 tile[16];
  if (threadIdx.x < 16) tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  uint2 a;
  LDMATRIX_X2(a, &tile[threadIdx.x % 16]);
  out[threadIdx.x] = a;
}

// right: ten rows of 24 halves, and six more.
__global__ void __launch_bounds__(32) padded(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[16 * 24];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) as[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

// right: the last row ends with the array, not with the distance to the next.
__global__ void __launch_bounds__(32) short_last_row(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[15 * 24 + 16];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) as[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

// right: the part of each warp.
__global__ void __launch_bounds__(128) part_of_warp(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[4][256];
  for (int i = threadIdx.x; i < 1024; i += 128) as[i / 256][i % 256] = a[i];
  __syncthreads();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as[threadIdx.x / 32], 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + threadIdx.x / 32 * 256, sum, 16, wmma::mem_row_major);
}

// right: columns 8 to 23 of rows of 24 halves begin at multiples of 16 bytes.
__global__ void __launch_bounds__(32) later_columns(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[16 * 24];
  int t = threadIdx.x;
  for (int i = t; i < 384; i += 32) as[i] = a[i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as + 8, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

// right: bytes, of which a lane gets four.
__global__ void __launch_bounds__(32) bytes_by_four(int *out, const signed char *a, const signed char *b) {
  __shared__ __align__(32) signed char as[8 * 16], bs[512];
  for (int i = threadIdx.x; i < 128; i += 32) as[i] = a[i];
  for (int i = threadIdx.x; i < 512; i += 32) bs[i] = b[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(fa, as, 16);
  wmma::load_matrix_sync(fb, bs, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 32, wmma::mem_row_major);
}
