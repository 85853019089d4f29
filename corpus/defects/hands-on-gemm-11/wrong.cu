// source: https://github.com/AyakaGEMM/Hands-on-GEMM/issues/11
// defect: rows of 130 floats in shared memory are read four at a time: every other row is misaligned
// class: A
// found: missed

__global__ void __launch_bounds__(256) tile(const float *in, float4 *out) {
  __shared__ float rows[8][130];
  int row = threadIdx.x / 32, column = threadIdx.x % 32 * 4;
  for (int i = 0; i < 4; ++i) rows[row][column + i] = in[threadIdx.x * 4 + i];
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<float4 *>(&rows[row][column]);  //~ PTX211
}
