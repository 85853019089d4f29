// source: https://github.com/agency-library/agency/issues/435
// defect: a barrier object waits with `__syncthreads()` in two branches that threads of one warp take
// class: B
// when: a warp in which both branches are taken
// found: potential

__shared__ int kept[64];

__global__ void __launch_bounds__(64) agents(int *out) {
  int t = threadIdx.x;
  kept[t] = t;
  if (out[t] > 0) {
    __syncthreads();  //~ PTX411
    out[t] = kept[63 - t];
  } else {
    __syncthreads();  //~ PTX411
    out[t] = kept[t ^ 1];
  }
}
