// why: tables that exist on the device: in __constant__ memory, local to the function, or folded to a number
// nvcc-flags: --expt-relaxed-constexpr

constexpr int scales[4] = {1, 10, 100, 1000};
__constant__ int offsets[4] = {5, 6, 7, 8};

constexpr int scale(int i) { return scales[i]; }

constexpr int digit(int i) {
  constexpr int digits[4] = {4, 3, 2, 1};
  return digits[i];
}

__global__ void folded(int *out) {
  constexpr int hundred = scale(2);
  out[threadIdx.x] *= hundred;
}

__global__ void on_the_device(int *out) {
  out[threadIdx.x] += offsets[threadIdx.x & 3];
}

__global__ void local_table(int *out) {
  out[threadIdx.x] += digit(threadIdx.x & 3);
}
