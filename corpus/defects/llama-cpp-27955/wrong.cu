// source: https://github.com/ggml-org/llama.cpp/pull/27955
// defect: the warps of a block wait at two different barriers, depending on their role
// class: C
// when: both barriers have number 0, and whole warps come to each: the hardware lets them meet; synccheck reports it
// found: potential

__shared__ float sums[128];

__global__ void __launch_bounds__(128) combine(const float *in, float *out) {
  int warp = threadIdx.x / 32;
  if (warp % 2 == 0) {
    sums[threadIdx.x] = in[threadIdx.x] * 2;
    __syncthreads();  //~ PTX411
    out[threadIdx.x] = sums[127 - threadIdx.x];
  } else {
    sums[threadIdx.x] = in[threadIdx.x];
    __syncthreads();  //~ PTX411
  }
}
