// why: rows of matrices that begin at a wrong place, or end outside of the array

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

#define LDMATRIX_X1(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")
#define LDMATRIX_X4(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")

// wrong: rows of 20 halves begin at multiples of 40 bytes.
__global__ void __launch_bounds__(32) rows_of_forty_bytes(uint4 *out, const half *in) {
  __shared__ __align__(16) half tile[32][20];
  for (int i = threadIdx.x; i < 32 * 16; i += 32) tile[i / 16][i % 16] = in[i];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, tile[threadIdx.x % 32]);  //~[!ir-G] PTX211
  out[threadIdx.x] = a;
}

// wrong: the same for each thread of the block: one half past a multiple of 16 bytes.
__global__ void __launch_bounds__(128) one_half_past(uint4 *out, const half *in, int at) {
  __shared__ __align__(16) half tile[4096];
  for (int i = threadIdx.x; i < 4096; i += 128) tile[i] = in[i];
  __syncthreads();
  uint4 a;
  LDMATRIX_X4(a, tile + at % 32 * 8 + 1);  //~[!ir-G] PTX211
  out[threadIdx.x] = a;
}

// wrong: a tile of 24 rows, and 32 lanes that name rows.
__global__ void __launch_bounds__(32) too_few_rows(uint4 *out, const uint4 *in) {
  __shared__ uint4 tile[24];
  if (threadIdx.x < 24) tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  uint4 a;
  LDMATRIX_X4(a, &tile[threadIdx.x % 32]);  //~[!ir-G] PTX211
  out[threadIdx.x] = a;
}

// wrong: the rows of lanes 0 to 7 end after the tile.
__global__ void __launch_bounds__(32) past_the_end(unsigned *out, const uint4 *in) {
  __shared__ uint4 tile[8];
  if (threadIdx.x < 8) tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  unsigned a;
  LDMATRIX_X1(a, &tile[threadIdx.x % 8 + 1]);  //~[!ir-G] PTX211
  out[threadIdx.x] = a;
}

// wrong: the matrix has 16 rows of 24 halves, and the last ones are not in the array.
__global__ void __launch_bounds__(32) array_of_ten_rows(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[10 * 24];
  int t = threadIdx.x;
  for (int i = t; i < 160; i += 32) as[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as, 24);  //~[!ir] PTX211
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
