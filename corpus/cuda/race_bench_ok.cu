// ptxcheck-args: -W conditional
// why: the kernels of race_bench.cu with the barriers that they lack

// The next tile is stored when all warps have read this one.
struct Splat { float x, y, depth, weight; };

template <int TILE>
__global__ void __launch_bounds__(TILE) blend_splats(const Splat *splats, int n, float2 eye, float *image, int width) {
  __shared__ float tile[TILE][4];
  const int px = blockIdx.x * TILE + threadIdx.x, t = threadIdx.x;
  const float dx = px % width - eye.x, dy = px / width - eye.y;
  float near = 1e30f, colour = 0;
  for (int first = 0; first < n; first += TILE) {
    if (first + t < n) {
      tile[t][0] = splats[first + t].x;
      tile[t][1] = splats[first + t].y;
      tile[t][2] = splats[first + t].depth;
      tile[t][3] = splats[first + t].weight;
    }
    __syncthreads();
    const int here = min(TILE, n - first);
    for (int k = 0; k < here; k++) {
      const float ax = tile[k][0] - dx, ay = tile[k][1] - dy;
      if (ax * ax + ay * ay < 1 && tile[k][2] < near) {
        near = tile[k][2];
        colour = tile[k][3];
      }
    }
    __syncthreads();
  }
  image[px] = colour;
}
template __global__ void blend_splats<128>(const Splat *, int, float2, float *, int);

// A barrier between the total of a scan and its readers.
__global__ void __launch_bounds__(128) place_triangles(const int *count, int *next, int *out) {
  __shared__ int sums[32], base;
  const int t = threadIdx.x, own = count[blockIdx.x * 128 + t];
  int upto = own;
  for (int by = 1; by < 32; by *= 2) {
    const int below = __shfl_up_sync(~0u, upto, by);
    if (t % 32 >= by) upto += below;
  }
  if (t % 32 == 31) sums[t / 32] = upto;
  __syncthreads();
  for (int w = 0; w < t / 32; w++) upto += sums[w];
  if (t == 127) sums[31] = upto;
  __syncthreads();
  const int total = sums[31];
  if (t == 0) base = atomicAdd(next, total);
  __syncthreads();
  for (int k = t; k < total; k += 128) out[base + k] = upto - own;
}

// Running minima to both sides: all threads read, wait, and write.
__global__ void running_minima(const unsigned char *in, unsigned char *out, int length) {
  extern __shared__ unsigned char minima[];
  const int t = threadIdx.x;
  minima[t] = in[2 * length * blockIdx.x + t];
  minima[t + length] = in[2 * length * blockIdx.x + t + length];
  __syncthreads();
  for (int by = 1; by < length; by *= 2) {
    const unsigned char before = t >= by ? minima[t + length - 1 - by] : 255;
    const unsigned char after = t <= length - 1 - by ? minima[t + by] : 255;
    const unsigned char left = min(minima[t + length - 1], before), right = min(minima[t], after);
    __syncthreads();
    minima[t + length - 1] = left;
    if (t < length - 1) minima[t] = right;
    __syncthreads();
  }
  out[length * blockIdx.x + t] = min(minima[t], minima[t + length - 1]);
}

// The same with the number of threads as the length.
__global__ void running_minima_of_block(const unsigned char *in, unsigned char *out) {
  extern __shared__ unsigned char minima[];
  const int t = threadIdx.x, length = blockDim.x;
  minima[t] = in[2 * length * blockIdx.x + t];
  minima[t + length] = in[2 * length * blockIdx.x + t + length];
  __syncthreads();
  for (int by = 1; by < length; by *= 2) {
    const unsigned char before = t >= by ? minima[t + length - 1 - by] : 255;
    const unsigned char after = t <= length - 1 - by ? minima[t + by] : 255;
    const unsigned char left = min(minima[t + length - 1], before), right = min(minima[t], after);
    __syncthreads();
    minima[t + length - 1] = left;
    if (t < length - 1) minima[t] = right;
    __syncthreads();
  }
  out[length * blockIdx.x + t] = min(minima[t], minima[t + length - 1]);
}

// A chain of filters: outputs are stored when all threads have read their neighbour's.
__global__ void __launch_bounds__(64) filter_chain(float *signal, const float *weights, int n) {
  __shared__ float output[64];
  const int t = threadIdx.x;
  float *x = signal + blockIdx.x * n;
  const float a = weights[3 * t], b = weights[3 * t + 1], c = weights[3 * t + 2];
  float state = 0, previous = 0;
  output[t] = 0;
  __syncthreads();
  for (int step = 0; step < n + 64; step++) {
    const float in = t == 0 ? (step < n ? x[step] : 0) : output[t - 1];
    const float y = a * in + state;
    state = b * in - c * y + previous;
    previous = y;
    __syncthreads();
    output[t] = y;
    __syncthreads();
    if (t == 63 && step >= 63 && step < n + 63) x[step - 63] = y;
  }
}

// A barrier before one block stores into the tile that all its threads have read.
__global__ void __launch_bounds__(1024) shortest_paths(int *cost, const int *rows, const int *columns, int pitch, int phase, int next) {
  __shared__ int across[32 * 32], down[32 * 32];
  const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int at = (blockIdx.y * 32 + w) * pitch + blockIdx.x * 32 + lane;
  across[w * 32 + lane] = rows[(phase * 32 + w) * pitch + blockIdx.x * 32 + lane];
  down[w * 32 + lane] = columns[(blockIdx.y * 32 + w) * pitch + phase * 32 + lane];
  int best = cost[at];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 32; k++) best = min(best, down[w * 32 + k] + across[k * 32 + lane]);
  if (blockIdx.x == next) {
    __syncthreads();
    across[w * 32 + lane] = best;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k++) best = min(best, __shfl_sync(~0u, best, k) + across[k * 32 + lane]);
  }
  cost[at] = best;
}

// The same, and a warp stores its row when its turn comes.
__global__ void __launch_bounds__(1024) shortest_paths_by_rows(int *cost, const int *rows, const int *columns, int pitch, int phase, int next) {
  __shared__ int across[32 * 32], down[32 * 32];
  const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int at = (blockIdx.y * 32 + w) * pitch + blockIdx.x * 32 + lane;
  across[w * 32 + lane] = rows[(phase * 32 + w) * pitch + blockIdx.x * 32 + lane];
  down[w * 32 + lane] = columns[(blockIdx.y * 32 + w) * pitch + phase * 32 + lane];
  int best = cost[at];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 32; k++) best = min(best, down[w * 32 + k] + across[k * 32 + lane]);
  if (blockIdx.x == next) {
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
      if (w == k) across[k * 32 + lane] = best;
      __syncthreads();
      best = min(best, __shfl_sync(~0u, best, k) + across[k * 32 + lane]);
    }
  }
  cost[at] = best;
}

// The last steps of a minimum over a block, by one warp that waits before and after each store.
__device__ void least_in_warp(volatile int *least, int t) {
  int own = min(least[t], least[t + 32]);
  for (int by = 16; by > 0; by /= 2) {
    __syncwarp();
    least[t] = own;
    __syncwarp();
    own = min(own, least[t + by]);
  }
  __syncwarp();
  least[t] = own;
}
__global__ void __launch_bounds__(256) least_slack(const int *slack, int *result, int n) {
  __shared__ int least[256];
  const int t = threadIdx.x;
  int own = 0x7fffffff;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) own = min(own, slack[i]);
  least[t] = own;
  __syncthreads();
  if (t < 128) least[t] = min(least[t], least[t + 128]);
  __syncthreads();
  if (t < 64) least[t] = min(least[t], least[t + 64]);
  __syncthreads();
  if (t < 32) least_in_warp(least, t);
  if (t == 0) result[blockIdx.x] = least[0];
}

// Lane 0 overwrites an element of a list when all lanes have read it.
__global__ void __launch_bounds__(128) nearest_pins(const int *x, const int *y, int2 *edges, int pins) {
  __shared__ int best[4], from[4][64], to[4][64], far[4][64];
  const int lane = threadIdx.x % 32, w = threadIdx.x / 32, net = blockIdx.x * 4 + w;
  x += net * pins;
  y += net * pins;
  int left = pins - 1, source = 0;
  for (int j = lane; j < left; j += 32) {
    far[w][j] = 0x7fffff;
    to[w][j] = j + 1;
    from[w][j] = 0;
  }
  __syncwarp();
  for (int e = 0; e < pins - 1; e++) {
    __syncwarp();
    if (lane == 0) best[w] = 0x7fffffff;
    __syncwarp();
    for (int j = lane; j < left; j += 32) {
      const int d = abs(x[source] - x[to[w][j]]) + abs(y[source] - y[to[w][j]]);
      if (d < far[w][j]) {
        far[w][j] = d;
        from[w][j] = source;
      }
      atomicMin(&best[w], far[w][j] * 64 + j);
    }
    __syncwarp();
    const int j = best[w] % 64;
    source = to[w][j];
    left--;
    __syncwarp();
    if (lane == 0) {
      edges[net * pins + e] = make_int2(from[w][j], source);
      far[w][j] = far[w][left];
      from[w][j] = from[w][left];
      to[w][j] = to[w][left];
    }
  }
}
