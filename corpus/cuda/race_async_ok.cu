// targets: sm_90 sm_120
// why: cp.async: each thread waits for its own copies, and a barrier makes all of them seen by all

__device__ void copy4(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// right: a thread reads only what it has copied itself, and has waited for.
__global__ void __launch_bounds__(256) own_copies(float *out, const float *in, int tiles) {
  __shared__ float stage[2][256];
  int t = threadIdx.x;
  float sum = 0;
  copy4(&stage[0][t], in + t);
  commit();
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) copy4(&stage[(k + 1) & 1][t], in + (k + 1) * 256 + t);
    commit();
    wait<1>();
    sum += stage[k & 1][t];
  }
  out[t] = sum;
}

// right: copies of 16 bytes by some threads, zeros by others, to different rows; wait_all and a barrier.
__global__ void __launch_bounds__(128) rows_or_zeros(float *out, const float *in, int rows) {
  __shared__ float4 tile[32][4];
  int r = threadIdx.x / 4, c = threadIdx.x % 4;
  if (r < rows) copy16(&tile[r][c], in + r * 16 + c * 4);
  else tile[r][c] = make_float4(0, 0, 0, 0);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  float4 v = tile[31 - r][c];
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// right: the copy of the next tile starts after the barrier that ends the reads of the last one; constant rounds.
__global__ void __launch_bounds__(64) unrolled_stages(float *out, const float *in) {
  __shared__ float stage[2][64];
  int t = threadIdx.x;
  float sum = 0;
  copy4(&stage[0][t], in + t);
  commit();
#pragma unroll
  for (int k = 0; k < 4; k++) {
    wait<0>();
    __syncthreads();
    if (k < 3) copy4(&stage[(k + 1) & 1][t], in + (k + 1) * 64 + t);
    commit();
    sum += stage[k & 1][63 - t];
  }
  out[t] = sum;
}
