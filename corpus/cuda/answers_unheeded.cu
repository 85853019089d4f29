// why: to ask which lanes are there, or agree, helps nobody who names others all the same

__global__ void unheeded(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    unsigned here = __activemask();
    value = __shfl_xor_sync(0xffffffff, value, 1); //~ PTX401
    value += here;
  }
  out[threadIdx.x] = value;
}

// Half of the lanes are there: that is what they have asked for.
__global__ void confused(int *out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    if (__activemask() != 0xffffffff)
      value = __shfl_xor_sync(0xffffffff, value, 1); //~ PTX401
  }
  out[threadIdx.x] = value;
}

// A shuffle among all that have the same label, by five lanes only. Compilers make one predicate of both conditions.
__global__ void part_of_a_group(int *out, const int *labels) {
  int value = threadIdx.x;
  unsigned alike = __match_any_sync(0xffffffff, labels[threadIdx.x]);
  if (threadIdx.x % 32 < 5) {
    if (alike == 0xffffffff)
      value = __shfl_up_sync(0xffffffff, value, 1); //~ PTX401
  }
  out[threadIdx.x] = value;
}
