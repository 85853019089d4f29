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
  wmma::load_matrix_sync(fa, &as[warp * 16][0], 16);
  wmma::load_matrix_sync(fb, &bs[0][0], 16);  // not found: loads of matrices are left out
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// wrong: the next tiles are stored while other warps load these.
__global__ void __launch_bounds__(128) product(float *c, const half *a, const half *b, int k) {
  __shared__ half as[64][16], bs[16][16];
  int warp = threadIdx.x / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int step = 0; step < k; step += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += 128) as[i / 16][i % 16] = a[(blockIdx.x * 64 + i / 16) * k + step + i % 16];
    for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[i / 16][i % 16] = b[(step + i / 16) * 16 + i % 16];  // not found: loads of matrices are left out
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
    out[i] = part[0][at] + part[1][at] + part[2][at] + part[3][at];  // not found: stores of matrices are left out
  }
}

// wrong: ldmatrix without a barrier after the fill.
__global__ void __launch_bounds__(128) by_ldmatrix(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[32][4];
  int lane = threadIdx.x % 32;
  tile[threadIdx.x / 4][threadIdx.x % 4] = in[threadIdx.x];
  unsigned a, b, c, d, from = (unsigned)__cvta_generic_to_shared(&tile[lane][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");  // not found: loads of matrices are left out
  out[threadIdx.x] = a ^ b ^ c ^ d;
}
