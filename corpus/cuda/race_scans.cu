// why: prefix sums with a barrier too few

// wrong: a step reads and writes the same array, and a barrier stands only after it.
__global__ void __launch_bounds__(256) in_place(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (t >= d) s[t] += s[t - d];  //~[O3] PTX415 PTX416
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[t];
}

// wrong: the same, rolled, with the number of steps in a parameter.
__global__ void __launch_bounds__(256) in_place_rolled(int *out, const int *in, int n) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int d = 32; d < n; d *= 2) {
    int below = t >= d ? s[t - d] : 0;
    s[t] += below;  // not found: a parameter decides
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[t];
}

// wrong: two halves in turn, but nobody waits between two steps.
__global__ void __launch_bounds__(256) two_halves(float *out, const float *in) {
  __shared__ float temp[512];
  int t = threadIdx.x, to = 0, from = 1;
  temp[t] = t > 0 ? in[t - 1] : 0;
  __syncthreads();
#pragma unroll
  for (int d = 32; d < 256; d *= 2) {
    to = 1 - to;
    from = 1 - to;
    if (t >= d) temp[to * 256 + t] = temp[from * 256 + t] + temp[from * 256 + t - d];  //~[nvcc-O3] PTX416
    else temp[to * 256 + t] = temp[from * 256 + t];
  }
  out[t] = temp[to * 256 + t];
}

// wrong: no barrier at the beginning of the steps of the way up.
__global__ void __launch_bounds__(128) up_and_down(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x, step = 1;
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];  //~ PTX415
    //~^[O3] PTX416
    step *= 2;
  }
  if (t == 0) s[255] = 0;
  for (int d = 1; d < 256; d *= 2) {
    step /= 2;
    __syncthreads();
    if (t < d) {
      int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  out[2 * t] = s[2 * t];
  out[2 * t + 1] = s[2 * t + 1];
}

// wrong: the carry and the sums of warps are stored while others still read those of this tile.
__global__ void __launch_bounds__(256) tiles_with_carry(int *out, const int *in, int tiles) {
  __shared__ int upto[8], carry;
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  if (t == 0) carry = 0;
  __syncthreads();
  for (int k = 0; k < tiles; k++) {
    int sum = in[k * 256 + t];
    for (int d = 1; d < 32; d *= 2) {
      int below = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += below;
    }
    if (lane == 31) upto[warp] = sum;  // not found: block size is not stated
    __syncthreads();
    int before = carry;
    for (int w = 0; w < warp; w++) before += upto[w];
    out[k * 256 + t] = sum += before;
    if (t == 255) carry = sum;  // not found: not between warps 0 and 1
  }
}

// wrong: warp 0 scans the sums, and the other warps read them without waiting for it.
__global__ void scan_of_block(int *out, const int *in) {
  __shared__ int upto[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i], sum = v;
  for (int d = 1; d < 32; d *= 2) {
    int below = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += below;
  }
  if (lane == 31) upto[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    int w = lane < blockDim.x / 32 ? upto[lane] : 0;
    for (int d = 1; d < 32; d *= 2) {
      int below = __shfl_up_sync(0xffffffffu, w, d);
      if (lane >= d) w += below;
    }
    upto[lane] = w;
  }
  if (warp > 0) sum += upto[warp - 1];  // not found: block size is not stated
  out[i] = sum;
}

// wrong: the base that thread 0 fetches is read without a barrier.
__global__ void compacted(int *out, int *count, const int *in) {
  __shared__ int kept[32], base;
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, v = in[blockIdx.x * blockDim.x + t];
  unsigned ballot = __ballot_sync(0xffffffffu, v > 0);
  if (lane == 0) kept[warp] = __popc(ballot);
  __syncthreads();
  int before = 0, all = 0;
  for (int w = 0; w < blockDim.x / 32; w++) {
    if (w < warp) before += kept[w];
    all += kept[w];
  }
  if (t == 0) base = atomicAdd(count, all);
  if (v > 0) out[base + before + __popc(ballot & ((1u << lane) - 1))] = v;  // not found: the data decide
}
