// fix: threads without an element go along with 0

__global__ void __launch_bounds__(128) quantize(const float *in, unsigned char *out, int count) {
  __shared__ float largest[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  bool is_active = i < count;
  largest[threadIdx.x] = is_active ? fabsf(in[i]) : 0;
  __syncthreads();
  float most = fmaxf(largest[threadIdx.x], largest[threadIdx.x ^ 1]);
  __syncthreads();
  if (is_active) out[i] = in[i] / most * 127;
}
