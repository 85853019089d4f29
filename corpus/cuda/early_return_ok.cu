// why: lanes that have ended are waited for by nobody, whichever way they end; what a shuffle reads from one is not asked for here
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX406

__global__ void bounds(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = in[i];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  out[i] = value;
}

__global__ void nested(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float value = in[i];
    if (value > 0) {
      value = __shfl_xor_sync(0xffffffffu, value, 1);
      out[i] = value;
    }
  }
}

__device__ float sum_of_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void whole_rows(float *out, const float *in, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  float sum = sum_of_warp(in[row * 32 + threadIdx.x % 32]);
  if (threadIdx.x % 32 == 0) out[row] = sum;
}

__global__ void exits_in_assembly(int *out, int n) {
  if (threadIdx.x >= n) asm volatile("exit;");
  out[threadIdx.x] = __any_sync(0xffffffffu, out[threadIdx.x] > 0);
}
