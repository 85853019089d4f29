// fix: one barrier for all

__shared__ int kept[64];

__global__ void __launch_bounds__(64) agents(int *out) {
  int t = threadIdx.x;
  kept[t] = t;
  bool is_positive = out[t] > 0;
  __syncthreads();
  out[t] = kept[is_positive ? 63 - t : t ^ 1];
}
