// why: plain accesses to what other threads change by atomics, with no barrier in between

// wrong: cleared, and no barrier before others count.
__global__ void __launch_bounds__(256) histogram(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&count[in[i]], 1);  // not found: atomics are left out
  __syncthreads();
  atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}

// wrong: read while others still count.
__global__ void __launch_bounds__(256) histogram_read(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&count[in[i]], 1);
  atomicAdd(&out[threadIdx.x], count[threadIdx.x]);  // not found: atomics are left out
}

// wrong: one element, certainly the same: cleared by thread 0, and added to by all without a barrier.
__global__ void __launch_bounds__(128) counter(int *out, const int *in) {
  __shared__ int used;
  if (threadIdx.x == 0) used = 0;
  int at = atomicAdd(&used, 1);  // not found: atomics are left out
  out[at] = in[threadIdx.x];
}

// wrong: the list is read before all have put their element there.
__global__ void __launch_bounds__(256) list_by_counter(int *out, const int *in, int n) {
  __shared__ int list[1024], used;
  if (threadIdx.x == 0) used = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256)
    if (in[i] > 0) {
      int at = atomicAdd(&used, 1);
      if (at < 1024) list[at] = i;
    }
  int all = min(used, 1024);  // not found: atomics are left out
  for (int i = threadIdx.x; i < all; i += 256) out[i] = list[all - 1 - i];  // not found: the data decide
}

// wrong: each adds to its own place by an atomic, and reads another warp's at once.
__global__ void __launch_bounds__(64) neighbours(int *out) {
  __shared__ int cell[64];
  int t = threadIdx.x;
  cell[t ^ 32] = 0;
  __syncthreads();
  atomicAdd(&cell[t], t + 1);
  out[t] = cell[t ^ 32];  // not found: atomics are left out
}

// wrong: places are taken before thread 0 has summed up the counts.
__global__ void __launch_bounds__(256) radix_rounds(unsigned *out, const unsigned *in, int n) {
  __shared__ int count[16], start[16];
  for (int shift = 0; shift < 32; shift += 4) {
    if (threadIdx.x < 16) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&count[in[i] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x == 0)
      for (int d = 0, sum = 0; d < 16; d++) start[d] = sum, sum += count[d];
    for (int i = threadIdx.x; i < n; i += 256) out[atomicAdd(&start[in[i] >> shift & 15], 1)] = in[i];  // not found: atomics are left out
    __syncthreads();
  }
}

// wrong: tables of other warps are added while these still count.
__global__ void __launch_bounds__(128) tables_of_warps(int *out, const int *in, int n) {
  __shared__ int table[4][32];
  int *mine = table[threadIdx.x / 32], lane = threadIdx.x % 32;
  mine[lane] = 0;
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 128) atomicAdd(&mine[in[i] & 31], 1);
  __syncwarp();
  if (threadIdx.x < 32) out[lane] = table[0][lane] + table[1][lane] + table[2][lane] + table[3][lane];  // not found: atomics are left out
}

// wrong: the largest is read while others still compare.
__global__ void __launch_bounds__(256) largest(int *out, const int *in) {
  __shared__ int top;
  if (threadIdx.x == 0) top = 0;
  __syncthreads();
  atomicMax(&top, in[threadIdx.x]);
  __syncwarp();
  out[threadIdx.x] = in[threadIdx.x] - top;  // not found: atomics are left out
}

// wrong: a plain sum of all threads in one place: sums are lost.
__global__ void __launch_bounds__(128) plain_sum(int *out, const int *in) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  sum += in[threadIdx.x];  //~ PTX415
  __syncthreads();
  out[threadIdx.x] = sum;
}

// wrong: the lane adds to the element of its column with a plain sum, and so do the other warps.
__global__ void __launch_bounds__(128) plain_columns(int *out, const int *in) {
  __shared__ int sum[32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) sum[lane] = 0;
  __syncthreads();
  sum[lane] += in[threadIdx.x];  //~ PTX416
  __syncthreads();
  out[threadIdx.x] = sum[lane];
}
