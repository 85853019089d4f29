// why: shared memory that warps load as matrices, with a barrier too few

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// wrong: no barrier between the fill and the loads.
__global__ void __launch_bounds__(128) loaded_at_once(float *c, const half *a, const half *b) {
  __shared__ half as[64][16], bs[16][16];
  int warp = threadIdx.x / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = threadIdx.x; i < 64 * 16; i += 128) as[i / 16][i % 16] = a[i];
  for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[i / 16][i % 16] = b[i];
  A fa;
  B fb;
  wmma::load_matrix_sync(fa, &as[warp * 16][0], 16);  //~[!ir,!nvcc,!G] PTX416
  wmma::load_matrix_sync(fb, &bs[0][0], 16);  // not found: the number of rounds of the fill differs between threads
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// wrong: the next tiles are stored while other warps load these.
__global__ void __launch_bounds__(128) product(float *c, const uint4 *a, const unsigned *b, int k) {
  __shared__ __align__(32) half as[64][16], bs[16][16];
  int t = threadIdx.x, warp = t / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int step = 0; step < k; step++) {
    reinterpret_cast<uint4 *>(as)[t] = a[(blockIdx.x * k + step) * 128 + t];
    reinterpret_cast<unsigned *>(bs)[t] = b[step * 128 + t];  //~[!ir,!G] PTX416
    __syncthreads();
    A fa;
    B fb;
    wmma::load_matrix_sync(fa, &as[warp * 16][0], 16);
    wmma::load_matrix_sync(fb, &bs[0][0], 16);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + (blockIdx.x * 64 + warp * 16) * 16, sum, 16, wmma::mem_row_major);
}

// wrong: the parts of all warps are added after a __syncwarp only.
__global__ void __launch_bounds__(128) parts_added(float *out, const half *a, const half *b) {
  __shared__ float part[4][16 * 20];
  int warp = threadIdx.x / 32;
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a + warp * 16, 64);
  wmma::load_matrix_sync(fb, b + warp * 256, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(part[warp], sum, 20, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 128) {
    int at = i / 16 * 20 + i % 16;
    out[i] = part[0][at] + part[1][at] + part[2][at] + part[3][at];  // not found: __syncwarp shows that it may be for one warp
  }
}

// wrong: ldmatrix without a barrier after the fill.
__global__ void __launch_bounds__(128) by_ldmatrix(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[32][4];
  int lane = threadIdx.x % 32;
  tile[threadIdx.x / 4][threadIdx.x % 4] = in[threadIdx.x];
  unsigned a, b, c, d, from = (unsigned)__cvta_generic_to_shared(&tile[lane][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");  //~[O3] PTX416
  out[threadIdx.x] = a ^ b ^ c ^ d;
}

#define LDMATRIX_X1(r, p) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")
#define LDMATRIX_X2_TRANS(r, q, p) asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r), "=r"(q) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory")
#define STMATRIX_X1(p, r) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"((unsigned)__cvta_generic_to_shared(p)), "r"(r) : "memory")

// wrong: a matrix of the other warp, whose rows it has stored one word a lane.
__global__ void __launch_bounds__(64) matrix_of_other_warp(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane / 4][lane % 4] = in[threadIdx.x];
  unsigned a;
  LDMATRIX_X1(a, tile[1 - warp][lane % 8]);  //~[O3] PTX416
  out[threadIdx.x] = a;
}

// wrong: the second half of the rows is that of another warp.
__global__ void __launch_bounds__(128) half_of_rows(uint2 *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[5][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane / 4][lane % 4] = in[threadIdx.x];
  if (warp == 0) tile[4][lane / 4][lane % 4] = 0;
  unsigned a, b;
  LDMATRIX_X2_TRANS(a, b, tile[warp + lane / 8 % 2][lane % 8]);  //~[O3] PTX416
  out[threadIdx.x] = make_uint2(a, b);
}

// wrong: warps store matrices, and read those of others.
__global__ void __launch_bounds__(128) stored_matrix(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  STMATRIX_X1(tile[warp][lane % 8], in[threadIdx.x]);
  out[threadIdx.x] = (&tile[0][0][0])[127 - threadIdx.x];  //~[O3] PTX416
}

// wrong: the next tile is stored while others load this one.
__global__ void __launch_bounds__(128) next_tile(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[32][4];
  int lane = threadIdx.x % 32;
  unsigned sum = 0;
#pragma unroll 1
  for (int k = 0; k < 8; k++) {
    tile[threadIdx.x / 4][threadIdx.x % 4] = in[k * 128 + threadIdx.x];  //~[O3] PTX416
    __syncthreads();
    unsigned a, b;
    LDMATRIX_X2_TRANS(a, b, tile[lane / 8 * 8 + lane % 8]);
    sum += a ^ b;
  }
  out[threadIdx.x] = sum;
}

// wrong: copies of other threads may still be on their way.
__global__ void __launch_bounds__(128) copied(unsigned *out, const uint4 *in) {
  __shared__ uint4 tile[128];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&tile[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  unsigned a, b;
  LDMATRIX_X2_TRANS(a, b, &tile[lane * 4 + warp]);  //~[O3] PTX416
  out[threadIdx.x] = a ^ b;
}

// wrong: the sums of one warp are stored over what others still load.
__global__ void __launch_bounds__(64) reused(float *out, const half *a) {
  __shared__ __align__(32) float memory[2][256];
  half *as = reinterpret_cast<half *>(memory[0]), *bs = reinterpret_cast<half *>(memory[1]);
  int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 512; i += 64) as[i] = a[i];
  for (int i = threadIdx.x; i < 256; i += 64) bs[i] = a[i + 512];
  __syncthreads();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as + warp * 256, 16);
  wmma::load_matrix_sync(fb, bs, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(memory[warp], sum, 16, wmma::mem_row_major);  // not found: the fill is a loop
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 64) out[i] = memory[i / 256][i % 256];
}

// wrong: tiles with padding, stored by columns; warps load what others fill.
__global__ void __launch_bounds__(64) padded_columns(float *out, const half *a, const half *b) {
  __shared__ __align__(32) half as[2][16 * 24], bs[16 * 24];
  int warp = threadIdx.x / 32, t = threadIdx.x;
  for (int i = t; i < 512; i += 64) as[i / 256][i % 256 / 16 * 24 + i % 16] = a[i];
  for (int i = t; i < 256; i += 64) bs[i / 16 * 24 + i % 16] = b[i];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as[warp], 24);  // not found: the fill is a loop
  wmma::load_matrix_sync(fb, bs, 24);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + warp * 256, sum, 16, wmma::mem_row_major);
}
