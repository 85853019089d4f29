// source: https://github.com/pytorch/FBGEMM/pull/5857
// defect: threads without an element return before the barriers of the others
// class: C
// when: the threads that miss the barrier have ended, and PTX waits for those that have not; it hung on AMD
// found: missed

__global__ void __launch_bounds__(128) quantize(const float *in, unsigned char *out, int count) {
  __shared__ float largest[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= count) return;
  largest[threadIdx.x] = fabsf(in[i]);
  __syncthreads();  //~ PTX411
  float most = fmaxf(largest[threadIdx.x], largest[threadIdx.x ^ 1]);
  __syncthreads();  //~ PTX411
  out[i] = in[i] / most * 127;
}
