// fix: rows of 132 floats

__global__ void __launch_bounds__(256) tile(const float *in, float4 *out) {
  __shared__ alignas(16) float rows[8][132];
  int row = threadIdx.x / 32, column = threadIdx.x % 32 * 4;
  for (int i = 0; i < 4; ++i) rows[row][column + i] = in[threadIdx.x * 4 + i];
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<float4 *>(&rows[row][column]);
}
