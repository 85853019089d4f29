// why: arrays in shared memory that something has written, in ways that are hard to see

struct Pair {
  int a, b;
};

// right: each thread writes, all read.
__global__ void __launch_bounds__(128) written(int *out, const int *in) {
  __shared__ int line[128];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: one thread writes.
__global__ void __launch_bounds__(128) by_one_thread(int *out, const int *in) {
  __shared__ int first;
  if (threadIdx.x == 0) first = in[blockIdx.x];
  __syncthreads();
  out[threadIdx.x] = first;
}

// right: one warp writes, another one reads.
__global__ void __launch_bounds__(64) by_roles(int *out, const int *in) {
  __shared__ int line[32];
  if (threadIdx.x < 32) {
    line[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x - 32] = line[63 - threadIdx.x];
  }
}

// right: the reading warp comes first in the code.
__global__ void __launch_bounds__(64) readers_first(int *out, const int *in) {
  __shared__ int line[32];
  if (threadIdx.x >= 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x - 32] = line[63 - threadIdx.x];
    return;
  }
  line[threadIdx.x] = in[threadIdx.x];
  asm volatile("bar.arrive 1, 64;" ::: "memory");
}

// right: written at the end of each round, read from the second one on.
__global__ void __launch_bounds__(128) of_last_round(int *out, const int *in, int n) {
  __shared__ int line[128];
  for (int k = 0; k < n; k++) {
    if (k > 0) out[threadIdx.x] += line[127 - threadIdx.x];
    __syncthreads();
    line[threadIdx.x] = in[k * 128 + threadIdx.x];
    __syncthreads();
  }
}

// right: both under one condition.
__global__ void __launch_bounds__(128) where_wanted(int *out, const int *in, bool wanted) {
  __shared__ int line[128];
  if (wanted) line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (wanted) out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: atomics on a cleared counter.
__global__ void __launch_bounds__(128) counted(int *out, const int *in) {
  __shared__ int counts[16];
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[in[threadIdx.x] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = counts[threadIdx.x];
}

// right: the atomic alone writes.
__global__ void __launch_bounds__(128) exchanged(int *out, const int *in) {
  __shared__ int slot;
  if (threadIdx.x == 0) atomicExch(&slot, in[0]);
  __syncthreads();
  out[threadIdx.x] = slot;
}

__device__ __noinline__ void fill(int *to, int value) { to[threadIdx.x] = value; }
__device__ __noinline__ int at(const int *from, int i) { return from[i]; }

// right: a function writes.
__global__ void __launch_bounds__(128) by_function(int *out, const int *in) {
  __shared__ int line[128];
  fill(line, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: a function writes, and another one reads.
__global__ void __launch_bounds__(128) by_functions(int *out, const int *in) {
  __shared__ int line[128];
  fill(line, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = at(line, 127 - threadIdx.x);
}

struct View {
  int *begin;
  int size;
};
__device__ __noinline__ void fill_view(const View *view, int value) {
  if (threadIdx.x < view->size) view->begin[threadIdx.x] = value;
}

// right: the address is in a structure on the stack, whose own address is passed.
__global__ void __launch_bounds__(128) by_structure(int *out, const int *in) {
  __shared__ int line[128];
  View view = {line, 128};
  fill_view(&view, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: the address is kept in another array.
__global__ void __launch_bounds__(128) by_table(int *out, const int *in) {
  __shared__ int one[128], other[128];
  __shared__ int *table[2];
  if (threadIdx.x < 2) table[threadIdx.x] = threadIdx.x ? one : other;
  __syncthreads();
  table[blockIdx.x & 1][threadIdx.x] = in[threadIdx.x];
  table[~blockIdx.x & 1][threadIdx.x] = in[threadIdx.x + 128];
  __syncthreads();
  out[threadIdx.x] = one[127 - threadIdx.x] + other[threadIdx.x ^ 1];
}

// right: one of two arrays.
__global__ void __launch_bounds__(128) one_of_two(int *out, const int *in, int n) {
  __shared__ int one[128], other[128];
  int *now = n & 1 ? one : other, *next = n & 1 ? other : one;
  now[threadIdx.x] = in[threadIdx.x];
  next[threadIdx.x] = in[threadIdx.x + 128];
  __syncthreads();
  out[threadIdx.x] = one[127 - threadIdx.x] + other[threadIdx.x ^ 1];
}

// right: arrays that change places.
__global__ void __launch_bounds__(128) change_places(int *out, const int *in, int n) {
  __shared__ int one[128], other[128];
  int *from = one, *to = other;
  one[threadIdx.x] = in[threadIdx.x];
  for (int k = 1; k < n; k++) {
    __syncthreads();
    to[threadIdx.x] = from[threadIdx.x ^ k];
    int *last = from;
    from = to, to = last;
  }
  __syncthreads();
  out[threadIdx.x] = from[127 - threadIdx.x];
}

// right: an asynchronous copy writes.
__global__ void __launch_bounds__(128) copied(int *out, const int *in) {
  __shared__ int line[128];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&line[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

// right: structures, member by member.
__global__ void __launch_bounds__(64) members(int *out, const int *in) {
  __shared__ Pair pairs[64];
  pairs[threadIdx.x].a = in[threadIdx.x];
  pairs[threadIdx.x].b = 1;
  __syncthreads();
  Pair pair = pairs[63 - threadIdx.x];
  out[threadIdx.x] = pair.a + pair.b;
}

// right: bytes of words.
__global__ void __launch_bounds__(128) bytes_of_words(int *out, const unsigned char *in) {
  __shared__ int words[32];
  reinterpret_cast<unsigned char *>(words)[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = words[threadIdx.x];
}

// right: only the address counts.
__global__ void __launch_bounds__(128) address_alone(unsigned long long *out) {
  __shared__ int line[128];
  out[threadIdx.x] = reinterpret_cast<unsigned long long>(&line[threadIdx.x]);
}

// right: what is read is written back, and counts for nothing.
__global__ void __launch_bounds__(128) cleared_by_two(int *out, int n) {
  __shared__ int line[128];
  if (n > 5)
    line[threadIdx.x] = 1;
  else
    line[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x];
}

__device__ int of_block() {
  __shared__ int shared;
  if (threadIdx.x == 0) shared = blockIdx.x * 2;
  __syncthreads();
  return shared;
}

// right: an array of a function.
__global__ void __launch_bounds__(128) array_of_function(int *out) { out[threadIdx.x] = of_block(); }

__device__ __noinline__ int last_time(int value) {
  __shared__ int kept;
  int last = kept;
  __syncthreads();
  if (threadIdx.x == 0) kept = value;
  __syncthreads();
  return value == 0 ? 0 : last;
}

// right: the second call reads what the first one has written.
__global__ void __launch_bounds__(128) kept_between_calls(int *out) {
  last_time(0);
  out[threadIdx.x] = last_time(threadIdx.x + 1);
}

// right: several rows, a row at a time.
__global__ void __launch_bounds__(128) rows(int *out, const int *in) {
  __shared__ int tile[4][128];
  for (int row = 0; row < 4; row++) tile[row][threadIdx.x] = in[row * 128 + threadIdx.x];
  __syncthreads();
  int sum = 0;
  for (int row = 0; row < 4; row++) sum += tile[3 - row][127 - threadIdx.x];
  out[threadIdx.x] = sum;
}

// right: the loop may have no round, and then nothing is read.
__global__ void __launch_bounds__(128) maybe_no_round(int *out, const int *in, int n) {
  __shared__ int line[128];
  int sum = 0;
  for (int k = 0; k < n; k++) line[(threadIdx.x + k) % 128] = in[k];
  __syncthreads();
  for (int k = 0; k < n; k++) sum += line[k % 128];
  out[threadIdx.x] = sum;
}

// right: dynamic shared memory, of which the size is not known.
__global__ void __launch_bounds__(128) dynamic(int *out, const int *in, int n) {
  extern __shared__ int whole[];
  if (n > 0) whole[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = whole[127 - threadIdx.x];
}

// right: a volatile flag that another warp sets.
__global__ void __launch_bounds__(64) flag(int *out, const int *in) {
  __shared__ volatile int ready;
  __shared__ int value;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    value = in[0];
    __threadfence_block();
    ready = 1;
  }
  if (threadIdx.x == 0) {
    while (!ready) {}
    __threadfence_block();
    out[0] = value;
  }
}
