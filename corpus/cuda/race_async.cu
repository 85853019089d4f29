// targets: sm_90 sm_120
// why: copies of cp.async, of which a thread knows only its own, without the barriers around them

__device__ void copy4(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");  //~[O3] PTX416
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// wrong: a thread waits for its own copy, and reads another one's.
__global__ void __launch_bounds__(128) wait_only(float *out, const float *in) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  copy4(&tile[t], in + t);
  commit();
  wait<0>();
  out[t] = tile[127 - t];  //~[O3] PTX416
}

// wrong: the next copy starts while others read.
__global__ void __launch_bounds__(128) one_stage(float *out, const float *in, int tiles) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < tiles; k++) {
    copy4(&tile[t], in + k * 128 + t);
    commit();
    wait<0>();
    __syncthreads();
    sum += tile[127 - t] * tile[t ^ 64];
  }
  out[t] = sum;
}

// wrong: two stages, and no barrier at the end of a round: the copy of the next round goes to the stage that others read.
__global__ void __launch_bounds__(128) two_stages(float *out, const float *in, int tiles) {
  __shared__ float stage[2][128];
  int t = threadIdx.x;
  float sum = 0;
  copy4(&stage[0][t], in + t);
  commit();
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) copy4(&stage[(k + 1) & 1][t], in + (k + 1) * 128 + t);
    commit();
    wait<1>();
    __syncthreads();
    sum += stage[k & 1][127 - t];
  }
  out[t] = sum;
}

// wrong: no barrier after the wait.
__global__ void __launch_bounds__(64) unrolled_stages(float *out, const float *in) {
  __shared__ float stage[2][64];
  int t = threadIdx.x;
  float sum = 0;
  copy4(&stage[0][t], in + t);
  commit();
#pragma unroll
  for (int k = 0; k < 4; k++) {
    wait<0>();
    sum += stage[k & 1][63 - t];  //~[O3] PTX416
    __syncthreads();
    if (k < 3) copy4(&stage[(k + 1) & 1][t], in + (k + 1) * 64 + t);
    commit();
  }
  out[t] = sum;
}

// wrong: the slice belongs to a warp, but its neighbour's is read.
__global__ void __launch_bounds__(128) slices_of_warps(float *out, const float *in) {
  __shared__ float slice[4][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  copy4(&slice[warp][lane], in + threadIdx.x);
  commit();
  wait<0>();
  __syncwarp();
  out[threadIdx.x] = slice[warp ^ 1][31 - lane];  // not found: cp.async is left out
}
