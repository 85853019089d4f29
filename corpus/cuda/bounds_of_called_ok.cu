// ptxcheck-args: -W potential:PTX211 --launch-block 64
// why: called functions access arrays of the kernel inside them, whatever they could do for other callers
#include <cuda_runtime.h>

__device__ __noinline__ void put(float *row, int at, float value) { row[at] = value; }
__device__ __noinline__ float get(const float *row, int at) { return row[at]; }
__device__ __noinline__ void put_if(float *row, int at, int size, float value) {
  if (at < size) row[at] = value;
}

__global__ void one_for_each_thread(const float *in, float *out) {
  __shared__ float row[64];
  put(row, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = get(row, 63 - threadIdx.x);
}

// Only some threads call.
__global__ void some_threads(const float *in, float *out) {
  __shared__ float row[16];
  if (threadIdx.x < 16) put(row, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = get(row, threadIdx.x & 15);
}

// The function is told the size.
__global__ void told_the_size(const float *in, float *out) {
  __shared__ float row[48];
  put_if(row, threadIdx.x, 48, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 48) out[threadIdx.x] = get(row, 47 - threadIdx.x);
}

// The size is a parameter of the kernel.
__global__ void told_by_host(const float *in, float *out, int size) {
  __shared__ float row[48];
  put_if(row, threadIdx.x, size, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < size) out[threadIdx.x] = row[threadIdx.x];
}

// The index counts from the end.
__device__ __noinline__ void put_before(float *end, int back, float value) { end[-1 - back] = value; }
__global__ void from_the_end(const float *in, float *out) {
  __shared__ float row[64];
  put_before(row + 64, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}

// The function returns before it comes there.
__device__ __noinline__ void put_first_half(float *row, float value) {
  if (threadIdx.x >= 32) return;
  row[threadIdx.x] = value;
}
__global__ void half_returns(const float *in, float *out) {
  __shared__ float row[32];
  put_first_half(row, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x & 31];
}

// A flag that is passed chooses the way.
__device__ __noinline__ void put_either(float *row, bool is_wide, float value) {
  if (is_wide)
    row[threadIdx.x * 2] = value;
  else
    row[threadIdx.x] = value;
}
__global__ void narrow_way(const float *in, float *out) {
  __shared__ float row[64];
  put_either(row, false, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}
__global__ void wide_way(const float *in, float *out) {
  __shared__ float row[128];
  put_either(row, true, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x * 2];
}
__global__ void way_of_data(const float *in, float *out, const int *is_wide) {
  __shared__ float row[64];
  put_either(row, is_wide[threadIdx.x] != 0 && threadIdx.x < 32, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}

// Two arrays, two sizes.
__global__ void two_arrays(const float *in, float *out) {
  __shared__ float small[8], large[64];
  if (threadIdx.x < 8) put(small, threadIdx.x, in[threadIdx.x]);
  put(large, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = get(large, threadIdx.x) + get(small, threadIdx.x / 8);
}

// The array is chosen.
__global__ void chosen_array(const float *in, float *out, int which) {
  __shared__ float small[32], large[64];
  float *row = threadIdx.x < 32 ? small : large;
  put(row, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = get(which ? small : large, threadIdx.x & 31);
}

// A thread that is outside ends.
__device__ __noinline__ void put_or_end(float *row, float value) {
  if (threadIdx.x >= 48) __trap();
  row[threadIdx.x] = value;
}
__global__ void ends_before(const float *in, float *out) {
  __shared__ float row[48];
  put_or_end(row, in[threadIdx.x]);
  out[threadIdx.x] = row[threadIdx.x % 48];
}
__device__ __noinline__ void end_late_threads() {
  if (threadIdx.x >= 48) asm volatile("exit;");
}
__global__ void ends_in_another_call(const float *in, float *out) {
  __shared__ float row[48];
  end_late_threads();
  put(row, threadIdx.x, in[threadIdx.x]);
  out[threadIdx.x] = row[threadIdx.x];
}

// The function calls itself.
__device__ __noinline__ float sum_down(const float *row, int from) {
  return from < 0 ? 0 : row[from] + sum_down(row, from - 1);  //~ PTX602
}
__global__ void recursive(const float *in, float *out) {
  __shared__ float row[64];
  row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum_down(row, threadIdx.x);
}

// The number that is passed changes in a loop.
__global__ void rounds(const float *in, float *out) {
  __shared__ float row[48];
  for (int at = threadIdx.x; at < 48; at += 64) put(row, at, in[at]);
  __syncthreads();
  for (int at = threadIdx.x; at < 48; at += 64) out[at] = get(row, at);
}

// The function has a loop of its own.
__device__ __noinline__ void fill(float *row, int size, float value) {
  for (int at = threadIdx.x; at < size; at += blockDim.x) row[at] = value;
}
__global__ void filled(const float *in, float *out) {
  __shared__ float row[48], rest[100];
  fill(row, 48, in[0]);
  fill(rest, 100, in[1]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x % 48] + rest[threadIdx.x];
}

// A piece of a row for each warp.
__device__ __noinline__ void put_in_warp(float *piece, float value) { piece[threadIdx.x % 32] = value; }
__global__ void pieces_of_warps(const float *in, float *out) {
  __shared__ float row[2][32];
  put_in_warp(row[threadIdx.x / 32], in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[1 - threadIdx.x / 32][threadIdx.x % 32];
}

// The pointer goes through a member.
struct Buffer {
  float *begin;
  int size;
  __device__ __noinline__ void set(int at, float value) {
    if (at < size) begin[at] = value;
  }
};
__global__ void member(const float *in, float *out) {
  __shared__ float row[40];
  Buffer buffer{row, 40};
  buffer.set(threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x % 40];
}

struct Piece {
  float *begin;
  int first;
};
__device__ __noinline__ float from_piece(Piece piece) { return piece.begin[piece.first + threadIdx.x]; }
__global__ void reads_piece(const float *in, float *out) {
  __shared__ float row[65];
  row[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) row[64] = 0;
  __syncthreads();
  out[threadIdx.x] = from_piece({row, 1});
}

// A narrow argument.
__device__ __noinline__ void put_at_byte(float *row, signed char at, float value) { row[at + 64] = value; }
__global__ void narrow_argument(const float *in, float *out) {
  __shared__ float row[128];
  put_at_byte(row, static_cast<signed char>(threadIdx.x - 64), in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}
__device__ __noinline__ void put_at_short(float *row, unsigned short at, float value) { row[at] = value; }
__global__ void wrapped_argument(const float *in, float *out) {
  __shared__ float row[64];
  put_at_short(row, static_cast<unsigned short>(threadIdx.x + 65536), in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}

// The function writes its parameter before it uses it.
__device__ __noinline__ void put_folded(float *row, int at, float value) {
  at %= 32;
  row += at;
  *row = value;
}
__global__ void folded(const float *in, float *out) {
  __shared__ float row[32];
  put_folded(row, threadIdx.x / 2, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x / 2];
}

// The element is read through a pointer to a pointer.
__device__ __noinline__ void put_through(float **rows, int which, float value) { rows[which][threadIdx.x] = value; }
__global__ void through(const float *in, float *out) {
  __shared__ float a[64], b[64];
  float *rows[2] = {a, b};
  put_through(rows, threadIdx.x & 1, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = a[threadIdx.x & ~1] + b[threadIdx.x | 1];
}

// A local array is passed.
__device__ __noinline__ void fill_local(int *all, int from) {
  for (int i = 0; i < 8; i++) all[i] = from + i;
}
__global__ void local(int *out, int from) {
  int all[8];
  fill_local(all, from);
  out[threadIdx.x] = all[threadIdx.x & 7];
}

// The function is called through a pointer.
__global__ void through_pointer(const float *in, float *out, int which) {
  __shared__ float row[32];
  void (*set)(float *, float) = which ? put_first_half : put_in_warp;
  set(row, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x & 31];
}

// A smaller view of the array; the sides of the block decide.
__device__ __noinline__ void put_by_side(float *row, float value) { row[threadIdx.x % (blockDim.x / 2)] = value; }
__global__ void by_side(const float *in, float *out) {
  __shared__ float row[32];
  put_by_side(row, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x & 31];
}

// The caller knows that it has a second row only for large blocks.
__global__ void rows_of_block(const float *in, float *out) {
  __shared__ float row[64];
  if (blockDim.x > 64)
    put(row, threadIdx.x + 64, in[threadIdx.x]);
  else
    put(row, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}
