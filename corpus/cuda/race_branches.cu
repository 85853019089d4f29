// why: barriers in branches and in places of a loop that leave two accesses unordered

// wrong: the barrier is only on one of the two ways of a parameter.
__global__ void __launch_bounds__(128) barrier_on_one_way(float *out, const float *in, int mode) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  if (mode) {
    out[t + 128] = in[t + 128];
    __syncthreads();
  }
  out[t] = s[127 - t];  // not found: a parameter decides
}

// wrong: block 0 has its barrier, the others do not.
__global__ void __launch_bounds__(128) first_block_only(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  if (blockIdx.x == 0) __syncthreads();
  out[blockIdx.x * 128 + t] = s[127 - t];  // not found: the number of block decides
}

// wrong: the step in the branch reads and writes without a barrier in between.
__global__ void __launch_bounds__(128) step_in_branch(float *out, const float *in, int mode) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (mode & 1) {
    float v = s[127 - t];
    s[t] = v;  //~ PTX416
  }
  __syncthreads();
  out[t] = s[t ^ 96];
}

// wrong: each case writes in its own way, and no barrier follows.
__global__ void __launch_bounds__(128) by_mode(int *out, const int *in, int mode) {
  __shared__ int s[128];
  int t = threadIdx.x;
  switch (mode) {
  case 0: s[t] = in[t]; break;
  case 1: s[127 - t] = in[t]; break;
  default: s[t ^ 64] = -in[t]; break;
  }
  out[t] = s[t];  // not found: a parameter decides
}

// wrong: the barrier at the end of a round is missing.
__global__ void __launch_bounds__(64) in_the_middle(int *out, const int *in, int rounds) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t];
  for (int k = 0; k < rounds; k++) {
    v = v * 5 + k;
    s[t] = v;  //~[nvcc-O3] PTX416
    if (k % 3 == 0) v ^= 1;
    __syncthreads();
    if (k % 2 == 0) v += s[63 - t];
  }
  out[t] = v;
}

// wrong: no barrier between the two loops.
__global__ void __launch_bounds__(32 * 4) two_loops(float *out, const float *in) {
  __shared__ float tile[32][129];
  int t = threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < 32; r++) tile[r][t] = in[r * 128 + t];
  float v = 0;
#pragma unroll 1
  for (int c = 0; c < 128; c++) v = v * 0.5f + tile[t & 31][c];  // not found: both accesses are in loops
  out[t] = v;
}

// wrong: the writers of the next round are another warp, which does not wait for the readers.
__global__ void __launch_bounds__(128) writers_change(int *out, const int *in, int rounds) {
  __shared__ int row[32];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (t / 32 == k % 4) row[t & 31] = in[k * 32 + (t & 31)];  //~[nvcc-O3] PTX416
    __syncthreads();
    sum += row[31 - (t & 31)];
  }
  out[t] = sum;
}

// wrong: only every second round has a barrier.
__global__ void __launch_bounds__(128) every_second_round(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x, v = in[t];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    s[t] = v;
    if (k % 2 == 0) __syncthreads();
    v += s[127 - t];  //~[O3] PTX416
    __syncthreads();
  }
  out[t] = v;
}

// wrong: a way around the barrier for blocks that have little to do.
__global__ void __launch_bounds__(128) shortcut(float *out, const float *in, int n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  if (n >= 64) {
    __syncthreads();
    out[t] = s[(t + 32) & 127];
    return;
  }
  out[t] = s[127 - t];  //~[!clang-O3] PTX416
}
