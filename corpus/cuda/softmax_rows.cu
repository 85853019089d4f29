// why: a softmax as production code writes it: a warp for each row, a tail that is masked out by values, no lane missing

#include <math_constants.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void __launch_bounds__(128) softmax_rows(float *out, const float *in, int rows, int columns) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float *source = in + row * columns;
  float largest = -CUDART_INF_F;
  for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, source[i]);
  largest = warp_max(largest);
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += __expf(source[i] - largest);
  sum = warp_sum(sum);
  for (int i = lane; i < columns; i += 32) out[row * columns + i] = __expf(source[i] - largest) / sum;
}
