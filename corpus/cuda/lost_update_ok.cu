// ptxcheck-args: -W PTX417
// why: updates of global memory that one thread makes at a time

__global__ void atomic_least(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMin(best, in[i]);
}

__global__ void atomic_histogram(unsigned *count, const unsigned char *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&count[in[i]], 1);
}

__global__ void own_element(float *x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = a * x[i] + 1;
}

__global__ void own_element_unrolled(float4 *x, float a, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (i + k < n) x[i + k].x += a;
}

__global__ void own_element_backwards(float *x, int n) {
  int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= 0) x[i] += 1;
}

__global__ void own_pixel(float *x, int width, int height) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < width && row < height) x[row * width + column] *= 2;
}

__global__ void own_tensor(float *x, unsigned n, unsigned c, unsigned w) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned column = i % w, row = i / w;
  x[row * (w + c) + column] += 1;
}

__global__ void one_thread_of_the_grid(int *sum, const int *in) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *sum += in[0];
}

__global__ void first_thread(int *sum, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *sum += in[n];
  if (i == n - 1) sum[1] = in[i];
}

__global__ void not_the_first(int *sum, const int *in) {
  if (blockIdx.x * blockDim.x + threadIdx.x != 0) return;
  sum[0] += in[0];
  sum[1] = sum[0] + in[1];
}

__global__ void one_corner(int *sum, const int *in) {
  if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0) *sum += in[blockIdx.y];
}

__global__ void __launch_bounds__(256) sum_of_block(float *sum, const float *in) {
  __shared__ float part[256];
  part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) sum[blockIdx.x] += part[0];
}

__global__ void only_block(float *sum, const float *in, int n) {
  __shared__ float part[256];
  float own = 0;
  for (int i = threadIdx.x; i < n; i += 256) own += in[i];
  part[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 256; i++) *sum += part[i];
  }
}

__global__ void only_thread(int *sum, const int *in, int n) {
  for (int i = 0; i < n; i++) *sum += in[i];
}

__global__ void one_thread_blocks(int *sum, const int *in, int n) {
  for (int i = 0; i < n; i++) sum[blockIdx.x] += in[blockIdx.x * n + i];
}

__global__ void warp_for_each_row(float *sum, const float *in, const int *first, int n) {
  unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float part = 0;
  for (int e = first[row] + lane; e < first[row + 1]; e += 32) part += in[e];
  for (int by = 16; by > 0; by /= 2) part += __shfl_down_sync(0xffffffff, part, by);
  if (lane == 0) sum[row] += part;
}

__global__ void own_range(float *value, const int *first, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = first[v]; e < first[v + 1]; e++) value[e] *= 0.5f;
}

__global__ void own_range_by_warp(float *value, const int *first, int n) {
  unsigned v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (v >= n) return;
  for (int e = first[v] + threadIdx.x % 32; e < first[v + 1]; e += 32) value[e] += 1;
}

__global__ void reserved(int *list, int *length, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) list[atomicAdd(length, 1)] = i;
}

__global__ void reserved_by_warp(int *list, int *length, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > 0;
  unsigned who = __ballot_sync(0xffffffff, keep), lane = threadIdx.x % 32;
  int base = 0;
  if (lane == 0) base = atomicAdd(length, __popc(who));
  base = __shfl_sync(0xffffffff, base, 0);
  if (keep) list[base + __popc(who & ((1u << lane) - 1))] = i;
}

__global__ void reserved_by_block(int *list, int *length, const int *in) {
  __shared__ int base;
  if (threadIdx.x == 0) base = atomicAdd(length, blockDim.x);
  __syncthreads();
  list[base + threadIdx.x] += in[blockIdx.x * blockDim.x + threadIdx.x];
}

__global__ void flag(int *changed, int *level, const int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && level[i] != next[i]) {
    level[i] = next[i];
    *changed = 1;
  }
}

__global__ void flags_of_others(int *seen, const int *to, int m, int round) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < m) seen[to[e]] = round;
}

__global__ void scatter(float *out, const float *in, const int *place, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[place[i]] = in[i];
}

__global__ void locked(int *lock, volatile float *sum, float *other, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *sum += in[i];
      *other += in[i];
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void locked_by_block(int *lock, float *sum, const float *in) {
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {
    }
    __threadfence();
    *sum += in[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
  }
}

__global__ void last_block(float *total, float *part, unsigned *done, const float *in) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    *total += sum;
    *done = 0;
  }
}

__global__ void claimed(int *owner, int *count, const int *to, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int v = to[e];
  if (atomicCAS(&owner[v], -1, e) == -1) count[v] += e;
}

__global__ void pulled(float *next, const float *rank, const int *first, const int *from, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = first[v]; e < first[v + 1]; e++) next[v] += rank[from[e]];
}

__global__ void by_turns(int *sum, const int *in) {
  for (int turn = 0; turn < blockDim.x; turn++) {
    if (threadIdx.x == turn) *sum += in[turn];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(128) equal_values(float *out, const float *in) {
  __shared__ float part[128];
  part[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x] = part[0] + part[1];
}

__global__ void equal_sums(float *out, const float *in) {
  float sum = in[blockIdx.x * 32 + threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
  out[blockIdx.x] = sum;
}

__global__ void from_parameters(float *out, float a, float b) {
  out[0] = a + b;
  out[1 + threadIdx.x] = a;
}

__global__ void relaxed(int *x, const int *in) {
  int old;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(old) : "l"(x) : "memory");
  if (in[threadIdx.x] < old) asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" : : "l"(x), "r"(in[threadIdx.x]) : "memory");
}

__global__ void __launch_bounds__(256) leader_of_warp_0(int *sum, const int *in, int n) {
  int part = 0;
  for (int i = threadIdx.x; i < n; i += 256) part += in[i];
  if (threadIdx.x / 32 == 0 && threadIdx.x % 32 == 0) *sum += part;
}

struct View {
  float *data;
  int width;
  __device__ float &at(int row, int column) const { return data[row * width + column]; }
};

__global__ void through_a_view(View view, int height) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < view.width)
    for (int row = 0; row < height; row++) view.at(row, column) += 1;
}

__device__ __noinline__ int index_of_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void index_by_call(float *x, int n) {
  int i = index_of_thread();
  if (i < n) x[i] += 1;
}

__device__ __noinline__ void add_to(float *x, float by) { *x += by; }

__global__ void own_element_by_call(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add_to(&x[i], 2);
}

__global__ void scratch(int *out, const int *in, int n) {
  int count[8] = {};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; k++) count[in[i * n + k] & 7]++;
  out[i] = count[in[i] & 7];
}

__global__ void __launch_bounds__(256) counts_of_block(unsigned *out, const unsigned char *in) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&count[in[blockIdx.x * 256 + threadIdx.x]], 1);
  __syncthreads();
  out[blockIdx.x * 256 + threadIdx.x] += count[threadIdx.x];
}

// Right, for each vertex is once in the list, and reported: the code does not show it.
__global__ void listed(int *degree, const int *list, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) degree[list[i]] += 1;  //~ PTX417?
}

__global__ void reached_first(int *level, const int *first, const int *to, int n, int round) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != round) return;
  for (int e = first[v]; e < first[v + 1]; e++)
    if (level[to[e]] < 0) level[to[e]] = round + 1;
}

// One block: the number of the block is only compared with 0.
__global__ void scan_counts(int *counts, int n, int *total)
{
    __shared__ int sum;
    int own = 0;
    if (threadIdx.x < n)
        own = counts[threadIdx.x + 1];
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    int before = atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x < n)
        counts[threadIdx.x + 1] = before + own;  //~[G] PTX417?
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *total = sum;
}
