// targets: sm_90 sm_120
// why: shared memory that warps load and store as matrices, with barriers, or a part for each warp

// right: ldmatrix after the barrier, and a barrier before the next fill.
__global__ void __launch_bounds__(128) by_ldmatrix(unsigned *out, const unsigned *in, int tiles) {
  __shared__ __align__(16) unsigned tile[32][4];
  int lane = threadIdx.x % 32;
  unsigned sum = 0;
  for (int k = 0; k < tiles; k++) {
    tile[threadIdx.x / 4][threadIdx.x % 4] = in[k * 128 + threadIdx.x];
    __syncthreads();
    unsigned a, b, c, d, from = (unsigned)__cvta_generic_to_shared(&tile[lane][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
    sum += a ^ b ^ c ^ d;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// right: each warp writes and loads a matrix of its own.
__global__ void __launch_bounds__(64) ldmatrix_of_warp(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[2][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane / 4][lane % 4] = in[threadIdx.x];
  __syncwarp();
  unsigned a, from = (unsigned)__cvta_generic_to_shared(&tile[warp][lane % 8][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from) : "memory");
  out[threadIdx.x] = a;
}

// right: a part for each warp, and a barrier before all read all of it.
__global__ void __launch_bounds__(128) by_stmatrix(unsigned *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[warp][lane % 8][0]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(in[threadIdx.x]) : "memory");
  __syncthreads();
  out[threadIdx.x] = (&tile[0][0][0])[127 - threadIdx.x];
}

// right: each warp reads what it stored itself.
__global__ void __launch_bounds__(128) own_part(uint4 *out, const unsigned *in) {
  __shared__ __align__(16) unsigned tile[4][8][4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[warp][lane % 8][0]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(in[threadIdx.x]) : "memory");
  __syncwarp();
  if (lane < 8) out[warp * 8 + lane] = *reinterpret_cast<const uint4 *>(tile[warp][lane]);
}
