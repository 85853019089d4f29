// why: loops and tails whose mask is a ballot on their own condition, taken while all lanes were together
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX406 -W PTX410

// The loop of the programming guide: who still has work votes for the next round.
__global__ void rounds(int *out, const int *in, int n) {
  int i = threadIdx.x;
  int sum = 0;
  unsigned mask = __ballot_sync(0xffffffffu, i < n);
  while (i < n) {
    int value = in[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(mask, value, offset);
    sum += value;
    i += blockDim.x;
    mask = __ballot_sync(mask, i < n);
  }
  out[threadIdx.x] = sum;
}

__global__ void tail(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mask = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    int value = in[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(mask, value, offset);
    out[i] = value;
  }
}

// Rounds for the whole warp: as long as one lane has work, all come.
__global__ void as_long_as_any(int *out, const int *in, int n) {
  int i = threadIdx.x;
  int sum = 0;
  while (__any_sync(0xffffffffu, i < n)) {
    int value = i < n ? in[i] : 0;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    sum += value;
    i += blockDim.x;
  }
  out[threadIdx.x] = sum;
}

// One lane of those that are left is served in each round.
__global__ void one_after_the_other(int *out, const int *in) {
  int bin = in[threadIdx.x];
  unsigned left = 0xffffffffu;
  while (left) {
    int leader = __ffs(left) - 1;
    int chosen = __shfl_sync(0xffffffffu, bin, leader);
    unsigned same = __ballot_sync(0xffffffffu, bin == chosen);
    if (threadIdx.x % 32 == leader) atomicAdd(&out[chosen], __popc(same));
    left &= ~same;
  }
}
