// why: a loop over an array, unrolled past its end behind tests that are never passed

struct alignas(16) Word {
  unsigned part[4];
};

// At most `most` words, as the caller knows.
template <int most>
__device__ __forceinline__ void copy(Word *to, const Word *from, size_t count) {
#pragma unroll
  for (int i = 0; i < most; ++i) {
    if (i < count) {
      to[i] = from[i];
    }
  }
}

__global__ void gather(Word *out, const volatile Word *in, const size_t *counts) {
  __shared__ Word last[2];
  Word own[1];
  for (int i = 0; i < 4; ++i) {
    own[0].part[i] = in[threadIdx.x].part[i];
    last[threadIdx.x & 1].part[i] = own[0].part[i];
  }
  __syncthreads();
  copy<4>(out, own, counts[0]);
  copy<4>(out, last, counts[1]);
}
