// ptxcheck-args: -W potential:PTX212 --launch-block 128
// why: parts of arrays in shared memory that some thread reads and no thread of the block stores to

// wrong: the last element of the line is the neighbour's of thread 127.
__global__ void neighbour(float *out, const float *in) {
  __shared__ float line[129];
  int t = threadIdx.x;
  line[t] = in[t];
  __syncthreads();
  out[t] = line[t] - line[t + 1];  //~ PTX212?
}

// wrong: only 64 of 128 counters are cleared.
__global__ void cleared_in_part(int *out, const int *in) {
  __shared__ int counts[128];
  int t = threadIdx.x;
  if (t < 64) counts[t] = 0;
  __syncthreads();
  if (t < 64) counts[t] += in[t];
  __syncthreads();
  out[t] = counts[t] * 2;  //~ PTX212?
}

// wrong: the halo on the right is missing.
__global__ void halo(float *out, const float *in) {
  __shared__ float tile[4 + 128 + 4];
  int t = threadIdx.x;
  tile[t + 4] = in[t + 4];
  if (t < 4) tile[t] = in[t];
  __syncthreads();
  float sum = 0;
  for (int k = -4; k <= 4; k++) sum += tile[t + 4 + k];  //~[O3,ir-O3] PTX212?
  out[t] = sum;
}

// wrong: four warps, and three of them store their sum.
__global__ void sums_of_warps(float *out, const float *in) {
  __shared__ float sums[4];
  int t = threadIdx.x;
  if (t % 32 == 0 && t >= 32) sums[t / 32] = in[t];
  __syncthreads();
  out[t] = sums[0] + sums[1] + sums[2] + sums[3];  //~[!nvcc-G] PTX212?
}

// wrong: vectors of four, one too few.
__global__ void vectors(float4 *out, const float4 *in) {
  __shared__ float4 all[130];
  int t = threadIdx.x;
  all[t + 1] = in[t];
  __syncthreads();
  float4 a = all[t], b = all[t + 1];  //~[!ir,!G] PTX212?
  out[t] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// wrong: the transposed tile has 32 rows, of which the block stores eight.
__global__ void rows_of_tile(float *out, const float *in) {
  __shared__ float tile[32][33];
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  tile[y][x] = in[y * 32 + x];
  tile[y + 4][x] = in[y * 32 + x + 128];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];  //~ PTX212?
}
