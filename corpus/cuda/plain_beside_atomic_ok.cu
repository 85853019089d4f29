// ptxcheck-args: -W PTX418
// why: plain accesses to memory that atomics change in another phase, or to other memory

__global__ void only_atomics(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMin(best, in[i]);
}

__global__ void checked_by_volatile(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < *(volatile int *)best) atomicMin(best, in[i]);
}

__global__ void checked_by_relaxed(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, old;
  if (i >= n) return;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(old) : "l"(best) : "memory");
  if (in[i] < old) atomicMin(best, in[i]);
}

__global__ void checked_by_atomic(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < atomicAdd(best, 0)) atomicMin(best, in[i]);
}

__global__ void other_array(int *next, const int *dist, const int *first, const int *to, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int own = dist[v];
  for (int e = first[v]; e < first[v + 1]; e++) atomicMin(&next[to[e]], own + 1);
}

__device__ double add_by_cas(double *place, double value) {
  unsigned long long *bits = (unsigned long long *)place, old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__global__ void cas_loop(double *sum, const double *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add_by_cas(sum, in[i]);
}

__device__ float max_by_cas(float *place, float value) {
  int *bits = (int *)place, old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

__global__ void cas_loop_at_data(float *most, const int *key, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) max_by_cas(&most[key[i]], in[i]);
}

__global__ void own_element(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&x[i], 1);
  x[i] *= 2;
}

__global__ void other_element(int *counts, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < counts[1]) atomicAdd(&counts[0], 1);
}

__global__ void __launch_bounds__(256) shared_histogram(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&count[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}

__global__ void __launch_bounds__(256) shared_counter(int *out, const int *in) {
  __shared__ int used, begin;
  if (threadIdx.x == 0) used = 0;
  __syncthreads();
  int at = in[threadIdx.x] > 0 ? atomicAdd(&used, 1) : 0;
  __syncthreads();
  if (threadIdx.x == 0) begin = used;
  __syncthreads();
  out[threadIdx.x] = begin + at;
}

__global__ void __launch_bounds__(256) shared_rounds(int *out, const int *in, int rounds) {
  __shared__ int used;
  for (int round = 0; round < rounds; round++) {
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    if (in[round * 256 + threadIdx.x] > 0) atomicAdd(&used, 1);
    __syncthreads();
    if (threadIdx.x == 1) out[round] = used;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(128) warp_tables(int *out, const int *in, int n) {
  __shared__ int table[4][32];
  int *mine = table[threadIdx.x / 32], lane = threadIdx.x % 32;
  mine[lane] = 0;
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 128) atomicAdd(&mine[in[i] & 31], 1);
  __syncwarp();
  out[threadIdx.x] = mine[lane];
}

__global__ void last_block(int *total, unsigned *done, int *out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    atomicAdd(total, blockIdx.x);
    __threadfence();
    is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    *out = *total;
    *done = 0;
  }
}

__global__ void last_thread(int *count, int *out, int n) {
  if (atomicAdd(count, 1) == n - 1) {
    *out = *count;
    *count = 0;
  }
}

__global__ void lock(int *lock, int *x) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *x += 1;
    __threadfence();
    *lock = 0;
  }
}

__global__ void reserved(int *list, int *length, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) list[atomicAdd(length, 1)] = i;
}

__global__ void slot_of_list(int *list, int *length, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int slot = atomicAdd(length, 1);
  list[slot] = in[i];
  atomicAdd(&list[slot], 1);
}

__global__ void returned_value(int *dist, int *next, const int *to, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n && atomicMin(&dist[to[v]], v) > v) next[to[v]] = 1;
}

__global__ void count_of_block(int *count, const int *in) {
  if (threadIdx.x == 0) count[blockIdx.x] = 0;
  __syncthreads();
  if (in[blockIdx.x * blockDim.x + threadIdx.x] > 0) atomicAdd(&count[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] += 1;
}

__global__ void one_thread(int *count) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *count = 1;
    atomicAdd(count, 2);
  }
}

__global__ void read_only_table(int *out, const int *table, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[table[in[i]]], table[i]);
}

__global__ void grid_barrier(unsigned *arrived, volatile unsigned *seen, int *sum, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum, i);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*seen < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  out[i] = *sum;
}

struct Stats {
  int *count;
  int *most;
  const int *bound;
};

__global__ void members(Stats s, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] > *s.bound) return;
  atomicAdd(s.count, 1);
  atomicMax(s.most, in[i]);
}

__global__ void own_bits(unsigned *bits, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) atomicOr(&bits[i / 32], 1u << i % 32);
}

__global__ void two_arrays_of_shared(int *out, const int *in) {
  extern __shared__ int both[];
  int *count = both, *value = both + blockDim.x;
  value[threadIdx.x] = in[threadIdx.x];
  atomicAdd(&count[in[threadIdx.x] & 31], 1);
  __syncthreads();
  out[threadIdx.x] = value[threadIdx.x] + count[threadIdx.x & 31];
}

__global__ void warp_aggregated(int *count, int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned who = __ballot_sync(0xffffffff, i < n && in[i] > 0);
  int base = 0;
  if (threadIdx.x % 32 == 0) base = atomicAdd(count, __popc(who));
  base = __shfl_sync(0xffffffff, base, 0);
  if (i < n) out[i] = base;
}

__global__ void by_exchange(int *slot, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicExch(&slot[i & 7], i);
}

__global__ void sum_of_block(float *sum, const float *in) {
  __shared__ float part;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  atomicAdd(&part, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, part);
}

// The scope says that the threads of a block alone change its slice, which begins where memory says.
__global__ void slices_of_blocks(unsigned *count, const int *first, const int *in, unsigned *out) {
  unsigned *own = count + first[blockIdx.x];
  own[threadIdx.x] = 0;  //~[G,ir] PTX418?
  __syncthreads();
  atomicAdd_block(&own[in[blockIdx.x * blockDim.x + threadIdx.x] & 63], 1u);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = own[threadIdx.x];
}
