// fix: the memory is aligned for doubles

__global__ void __launch_bounds__(32) sums(const double *in, double *out) {
  __shared__ char count;
  __shared__ alignas(8) char scratch[32 * 8];
  double *values = reinterpret_cast<double *>(scratch);
  if (threadIdx.x == 0) count = 32;
  values[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = values[threadIdx.x ^ 1] / count;
}
