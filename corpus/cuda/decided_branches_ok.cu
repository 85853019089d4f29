// why: a branch that a constant decides leads nowhere, which unoptimised code keeps

__device__ int table[32];

__device__ __noinline__ int from_shared(const int *from) {
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_shared(from)));
  return value;
}

__global__ void read(int *out) {
  __shared__ int tile[32];
  tile[threadIdx.x & 31] = threadIdx.x;
  __syncthreads();
  bool is_shared = false;
  const int *from = table;
  if (is_shared) {
    out[0] = from_shared(from);
  }
  int where = 1;
  switch (where) {
    case 0:
      asm volatile("st.shared.u32 [%0], %1;" : : "l"(__cvta_generic_to_shared(table)), "r"(1));
      break;
    case 1:
      asm volatile("st.shared.u32 [%0], %1;" : : "l"(__cvta_generic_to_shared(tile)), "r"(1));
      break;
  }
  out[threadIdx.x] = tile[threadIdx.x & 31];
}

struct Generator {
  unsigned state;
  __device__ __noinline__ unsigned next() { return state = state * 214013u + 2531011u; }
};

template <bool IS_RANDOM> __device__ __noinline__ unsigned drawn(Generator *from, unsigned first) {
  unsigned value = first;
  if (IS_RANDOM && threadIdx.x == 0) {
    value = from->next();
  }
  return value;
}

template <bool IS_RANDOM> __global__ void draw(unsigned *out, Generator *from) {
  Generator *own = IS_RANDOM ? from + blockIdx.x : nullptr;
  out[threadIdx.x] = drawn<IS_RANDOM>(own, 3);
}
template __global__ void draw<true>(unsigned *, Generator *);
template __global__ void draw<false>(unsigned *, Generator *);

template <int COUNT> __device__ __noinline__ int sum(const int *of) {
  if (COUNT == 1) {
    return of[0];
  } else {
    const int half = COUNT > 1 ? COUNT / 2 : 1;
    return sum<half>(of) + sum<half>(of + half);
  }
}

template <unsigned MASK, int WIDTH> __device__ __noinline__ int first(int value) {
  if (MASK != 0) {
    __syncwarp(MASK);
  }
  return WIDTH > 0 ? __shfl_sync(0xffffffff, value, 0, WIDTH) : value;
}

__global__ void fold(int *out, const int *of) {
  out[threadIdx.x] = first<0, 0>(sum<8>(of)) + first<0xffffffff, 16>(of[threadIdx.x]);
}

// A function of the host alone, and one for either side that calls it, of which the device has a copy that nothing calls:
// clang accepts none.
#ifndef __clang__
struct Pool {
  int *take(int count);
};

#pragma nv_exec_check_disable
template <class FROM> __host__ __device__ int taken(FROM &from) {
  return from.take(5)[0];
}

__global__ void use(int *out, Pool pool) {
  out[0] = 1;
  if (0) {
    out[0] = taken(pool);
  }
}
#endif
