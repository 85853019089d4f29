// fix: the array has 64 elements

__global__ void __launch_bounds__(32) smooth(const float *in, float *out) {
  __shared__ float bins[64];
  int lane = threadIdx.x;
  bins[lane] = in[lane];
  bins[lane + 32] = in[lane + 32];
  __syncwarp();
  out[lane] = bins[lane] + bins[lane + 32];
}
