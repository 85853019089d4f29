// fix: lanes without an expert add 0

__shared__ float tile[128];

__global__ void __launch_bounds__(128) experts(const int *chosen, const float *weights, float *out) {
  float sum = 0;
  for (int slot = 0; slot < 4; ++slot) {
    int expert = chosen[slot * 128 + threadIdx.x];
    tile[threadIdx.x] = expert < 0 ? 0 : weights[expert];
    __syncthreads();
    sum += tile[127 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
