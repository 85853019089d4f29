// targets: sm_90 sm_120
// why: right products of matrices: tiles behind barriers, parts of warps, rows that lanes name and nobody reads

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using A_of_columns = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ unsigned ldmatrix1(const void *p) {
  unsigned a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(shared_address(p)) : "memory");
  return a;
}
__device__ __forceinline__ uint2 ldmatrix2(const void *p) {
  uint2 a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a.x), "=r"(a.y) : "r"(shared_address(p)) : "memory");
  return a;
}
__device__ __forceinline__ uint4 ldmatrix4(const void *p) {
  uint4 a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "r"(shared_address(p)) : "memory");
  return a;
}
__device__ __forceinline__ void stmatrix1(void *p, unsigned a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(shared_address(p)), "r"(a) : "memory");
}
__device__ __forceinline__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// right: one tile behind a barrier.
__global__ void __launch_bounds__(128) one_tile(float *c, const half *a, const half *b) {
  __shared__ half as[64][16], bs[16][16];
  int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 64 * 16; i += 128) as[i / 16][i % 16] = a[i];
  for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[i / 16][i % 16] = b[i];
  __syncthreads();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, &as[warp * 16][0], 16);
  wmma::load_matrix_sync(fb, &bs[0][0], 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: a barrier on both sides of the loads, the number of rounds a parameter.
__global__ void __launch_bounds__(128) product(float *c, const half *a, const half *b, int k) {
  __shared__ half as[64][16], bs[16][16];
  int warp = threadIdx.x / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int step = 0; step < k; step += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += 128) as[i / 16][i % 16] = a[i / 16 * k + step + i % 16];
    for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[i / 16][i % 16] = b[(step + i / 16) * 16 + i % 16];
    __syncthreads();
    A fa;
    B fb;
    wmma::load_matrix_sync(fa, &as[warp * 16][0], 16);
    wmma::load_matrix_sync(fb, &bs[0][0], 16);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: two buffers, one barrier in each round.
__global__ void __launch_bounds__(128) two_buffers(float *c, const half *a, const half *b, int k) {
  __shared__ half as[2][64][16], bs[2][16][16];
  int warp = threadIdx.x / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int step = 0, at = 0; step < k; step += 16, at ^= 1) {
    for (int i = threadIdx.x; i < 64 * 16; i += 128) as[at][i / 16][i % 16] = a[i / 16 * k + step + i % 16];
    for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[at][i / 16][i % 16] = b[(step + i / 16) * 16 + i % 16];
    __syncthreads();
    A fa;
    B fb;
    wmma::load_matrix_sync(fa, &as[at][warp * 16][0], 16);
    wmma::load_matrix_sync(fb, &bs[at][0][0], 16);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: the same with eight rounds, unrolled.
__global__ void __launch_bounds__(128) two_buffers_unrolled(float *c, const half *a, const half *b) {
  __shared__ half as[2][64][16], bs[2][16][16];
  int warp = threadIdx.x / 32;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
#pragma unroll
  for (int step = 0; step < 8; step++) {
    for (int i = threadIdx.x; i < 64 * 16; i += 128) as[step & 1][i / 16][i % 16] = a[i / 16 * 128 + step * 16 + i % 16];
    for (int i = threadIdx.x; i < 16 * 16; i += 128) bs[step & 1][i / 16][i % 16] = b[(step * 16 + i / 16) * 16 + i % 16];
    __syncthreads();
    A fa;
    B fb;
    wmma::load_matrix_sync(fa, &as[step & 1][warp * 16][0], 16);
    wmma::load_matrix_sync(fb, &bs[step & 1][0][0], 16);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: a warp fills the rows that it loads.
__global__ void __launch_bounds__(128) own_rows(float *c, const half *a, const half *b) {
  __shared__ half as[4][256];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) as[warp][i] = a[warp * 256 + i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as[warp], 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: rows with padding; each warp its own 16 of them, which lie between those of no other.
__global__ void __launch_bounds__(128) own_padded_rows(float *c, const half *a, const half *b) {
  __shared__ half as[64 * 24];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) as[(warp * 16 + i / 16) * 24 + i % 16] = a[warp * 256 + i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as + warp * 16 * 24, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: the parts of four warps lie side by side in rows of 64: what lies between two rows of one is of others.
__global__ void __launch_bounds__(128) side_by_side(float *c, const half *a, const half *b) {
  __shared__ half as[16][64];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) as[i / 16][warp * 16 + i % 16] = a[warp * 256 + i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, &as[0][warp * 16], 64);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: the same by columns.
__global__ void __launch_bounds__(128) columns_side_by_side(float *c, const half *a, const half *b) {
  __shared__ half as[16][64];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) as[i / 16][warp * 16 + i % 16] = a[warp * 256 + i];
  __syncwarp();
  A_of_columns fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, &as[0][warp * 16], 64);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: the distance between rows is a parameter, and each warp begins where the last one ends.
__global__ void __launch_bounds__(64) distance_of_parameter(float *c, const half *a, const half *b, int pitch) {
  extern __shared__ half dynamic[];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  half *own = dynamic + warp * 16 * pitch;
  for (int i = lane; i < 256; i += 32) own[i / 16 * pitch + i % 16] = a[warp * 256 + i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, own, pitch);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
}

// right: each warp stores its sums in a part of its own, and reads them after __syncwarp.
__global__ void __launch_bounds__(128) own_sums(float *out, const half *a, const half *b) {
  __shared__ float part[4][256];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a + warp * 256, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(part[warp], sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) out[warp * 256 + i] = part[warp][i] * 0.5f;
}

// right: the sums of all warps, behind a barrier.
__global__ void __launch_bounds__(128) all_sums(float *out, const half *a, const half *b) {
  __shared__ float part[4][256];
  int warp = threadIdx.x / 32;
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a + warp * 256, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(part[warp], sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) out[i] = part[0][i] + part[1][i] + part[2][i] + part[3][i];
}

// right: tiles and sums share memory, with a barrier between the last load and the first store.
__global__ void __launch_bounds__(128) shared_by_phases(float *out, const half *a, const half *b) {
  __shared__ __align__(32) float memory[4][256];
  half *tiles = reinterpret_cast<half *>(memory);
  int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 1024; i += 128) tiles[i] = a[i];
  __syncthreads();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, tiles + warp * 256, 16);
  wmma::load_matrix_sync(fb, tiles, 16);
  __syncthreads();
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(memory[warp], sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 128) out[i] = memory[3 - i / 256][i % 256];
}

// right: sums that a warp stored before, loaded, added to, and stored again, in a part of its own.
__global__ void __launch_bounds__(64) accumulated(float *out, const half *a, const half *b, int rounds) {
  __shared__ float part[2][256];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) part[warp][i] = 0;
  __syncwarp();
  for (int k = 0; k < rounds; k++) {
    A fa;
    B fb;
    C sum;
    wmma::load_matrix_sync(sum, part[warp], 16, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a + (k * 2 + warp) * 256, 16);
    wmma::load_matrix_sync(fb, b + k * 256, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(part[warp], sum, 16, wmma::mem_row_major);
    __syncwarp();
  }
  for (int i = lane; i < 256; i += 32) out[warp * 256 + i] = part[warp][i];
}

// right: all warps load one matrix of zeros that each of them may store.
__global__ void __launch_bounds__(64) zeros(float *out, const half *a) {
  __shared__ half zero[256];
  for (int i = threadIdx.x % 32; i < 256; i += 32) zero[i] = __float2half(0.0f);
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, zero, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + threadIdx.x / 32 * 256, sum, 16, wmma::mem_row_major);
}

// right: blocks of one warp.
__global__ void __launch_bounds__(32) one_warp(float *out, const half *a, const half *b) {
  __shared__ half as[256], bs[256];
  for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i], bs[i] = b[i];
  __syncwarp();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as, 16);
  wmma::load_matrix_sync(fb, bs, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

// right: one warp of the block fills and loads.
__global__ void __launch_bounds__(128) by_first_warp(float *out, const half *a, const half *b) {
  __shared__ half as[256], bs[256];
  if (threadIdx.x < 32) {
    for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i], bs[i] = b[i];
    __syncwarp();
    A fa;
    B fb;
    C sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(fa, as, 16);
    wmma::load_matrix_sync(fb, bs, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
  }
}

// right: tiles of bytes, m8n32k16.
__global__ void __launch_bounds__(64) bytes_in_tiles(int *out, const signed char *a, const signed char *b) {
  __shared__ __align__(32) signed char as[2][128], bs[512];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 128; i += 32) as[warp][i] = a[warp * 128 + i];
  for (int i = threadIdx.x; i < 512; i += 64) bs[i] = b[i];
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(fa, as[warp], 16);
  wmma::load_matrix_sync(fb, bs, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + warp * 256, sum, 32, wmma::mem_row_major);
}

// right: the whole block leaves before the barrier, or none of it.
__global__ void __launch_bounds__(64) early_exit(float *out, const half *a, int n) {
  __shared__ half as[512];
  if (blockIdx.x * 512 >= n) return;
  for (int i = threadIdx.x; i < 512; i += 64) as[i] = a[blockIdx.x * 512 + i];
  __syncthreads();
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as + threadIdx.x / 32 * 256, 16);
  wmma::load_matrix_sync(fb, as + 256 - threadIdx.x / 32 * 256, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + (blockIdx.x * 2 + threadIdx.x / 32) * 256, sum, 16, wmma::mem_row_major);
}

// right: a barrier with a number for the warps that fill and load.
__global__ void __launch_bounds__(128) named_barrier(float *out, const half *a) {
  __shared__ half as[1024];
  for (int i = threadIdx.x; i < 1024; i += 128) as[i] = a[i];
  asm volatile("bar.sync 1, 128;" ::: "memory");
  A fa;
  B fb;
  C sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, as + threadIdx.x / 32 * 256, 16);
  wmma::load_matrix_sync(fb, as + (3 - threadIdx.x / 32) * 256, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out + threadIdx.x / 32 * 256, sum, 16, wmma::mem_row_major);
}

// right: one matrix is loaded by lanes 0 to 7; the addresses of the others are those of rows that other warps store.
__global__ void __launch_bounds__(128) eight_addresses(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane / 4][lane % 4] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = ldmatrix1(tile[(warp + lane / 8) % 4][lane % 8]);
}

// right: two matrices, by lanes 0 to 15.
__global__ void __launch_bounds__(64) sixteen_addresses(uint2 *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][16][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 64; i += 32) tile[warp][i / 4][i % 4] = in[warp * 64 + i];
  __syncwarp();
  out[threadIdx.x] = ldmatrix2(tile[warp ^ lane / 16][lane % 16]);
}

// right: of four matrices, a warp uses those that it has stored.
__global__ void __launch_bounds__(64) half_of_results(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][16][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = lane; i < 64; i += 32) tile[warp][i / 4][i % 4] = in[warp * 64 + i];
  __syncwarp();
  uint4 all = ldmatrix4(tile[warp ^ lane / 16][lane % 16]);
  out[threadIdx.x] = all.x ^ all.y;
}

// right: four matrices behind a barrier.
__global__ void __launch_bounds__(128) four_matrices(uint4 *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[32][4];
  tile[threadIdx.x / 4][threadIdx.x % 4] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = ldmatrix4(tile[threadIdx.x % 32]);
}

// right: rows at exchanged places, so that they lie in different banks.
__global__ void __launch_bounds__(256) exchanged_rows(uint4 *out, const uint4 *in, int tiles) {
  __shared__ uint4 tile[32][8];
  int row = threadIdx.x / 8, column = threadIdx.x % 8, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (int k = 0; k < tiles; k++) {
    tile[row][column ^ row % 8] = in[k * 256 + threadIdx.x];
    __syncthreads();
    uint4 a = ldmatrix4(&tile[lane][warp ^ lane % 8]);
    sum.x += a.x, sum.y += a.y, sum.z += a.z, sum.w += a.w;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// right: copies of all threads, a wait, a barrier.
__global__ void __launch_bounds__(128) copied(unsigned *out, const uint4 *in) {
  __shared__ uint4 tile[128];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  copy16(&tile[threadIdx.x], in + threadIdx.x);
  commit();
  wait<0>();
  __syncthreads();
  uint4 a = ldmatrix4(&tile[lane * 4 + warp]);
  out[threadIdx.x] = a.x ^ a.y ^ a.z ^ a.w;
}

// right: three stages of copies, one barrier in each round.
__global__ void __launch_bounds__(128) three_stages(unsigned *out, const uint4 *in, int tiles) {
  __shared__ uint4 stage[3][128];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = 0;
  for (int k = 0; k < 2; k++) {
    if (k < tiles) copy16(&stage[k][threadIdx.x], in + k * 128 + threadIdx.x);
    commit();
  }
  int next = 2, now = 0;
  for (int k = 0; k < tiles; k++) {
    wait<1>();
    __syncthreads();
    if (k + 2 < tiles) copy16(&stage[next][threadIdx.x], in + (k + 2) * 128 + threadIdx.x);
    commit();
    uint4 a = ldmatrix4(&stage[now][lane * 4 + warp]);
    sum += a.x ^ a.y ^ a.z ^ a.w;
    next = next == 2 ? 0 : next + 1;
    now = now == 2 ? 0 : now + 1;
  }
  out[threadIdx.x] = sum;
}

// right: a warp stores a matrix and loads it, both in a part of its own.
__global__ void __launch_bounds__(128) turned(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  stmatrix1(tile[warp][lane % 8], in[threadIdx.x]);
  __syncwarp();
  out[threadIdx.x] = ldmatrix1(tile[warp][7 - lane % 8]);
}

// right: eight lanes name the rows that a warp stores; the addresses of the others are those of other warps.
__global__ void __launch_bounds__(128) eight_stored_rows(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  stmatrix1(tile[(warp + lane / 8) % 4][lane % 8], in[threadIdx.x]);
  __syncwarp();
  out[threadIdx.x] = tile[warp][lane / 4][lane % 4];
}

// right: stored by one warp, loaded by another one behind a barrier.
__global__ void __launch_bounds__(64) handed_over(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  stmatrix1(tile[warp][lane % 8], in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = ldmatrix1(tile[1 - warp][lane % 8]);
}

// right: other warps store the second array while this one is loaded.
__global__ void __launch_bounds__(64) other_array(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned one[16][4], other[64];
  int lane = threadIdx.x % 32;
  one[threadIdx.x / 4][threadIdx.x % 4] = in[threadIdx.x];
  __syncthreads();
  other[threadIdx.x] = in[threadIdx.x + 64];
  uint2 a = ldmatrix2(one[lane % 16]);
  __syncthreads();
  out[threadIdx.x] = a.x ^ a.y ^ other[63 - threadIdx.x];
}

// right: what is loaded too early is loaded again behind the barrier, and only that is used.
__global__ void __launch_bounds__(64) loaded_again(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[16][4];
  int lane = threadIdx.x % 32;
  tile[threadIdx.x / 4][threadIdx.x % 4] = in[threadIdx.x];
  uint2 a = ldmatrix2(tile[lane % 16]);
  __syncthreads();
  a = ldmatrix2(tile[lane % 16]);
  out[threadIdx.x] = a.x ^ a.y;
}

// right: a part of the tile for each half of the block, with a barrier for each half.
__global__ void __launch_bounds__(128) two_halves(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][16][4];
  int of = threadIdx.x / 64, t = threadIdx.x % 64;
  tile[of][t / 4][t % 4] = in[threadIdx.x];
  asm volatile("bar.sync %0, 64;" ::"r"(of + 1) : "memory");
  uint2 a = ldmatrix2(tile[of][threadIdx.x % 16]);
  out[threadIdx.x] = a.x ^ a.y;
}
