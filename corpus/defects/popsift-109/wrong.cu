// source: https://github.com/alicevision/popsift/pull/109
// defect: a histogram of 36 bins in shared memory is read and written as if it had 64, two for each lane
// class: A
// found: default

__global__ void __launch_bounds__(32) smooth(const float *in, float *out) {
  __shared__ float bins[36];
  int lane = threadIdx.x;
  bins[lane] = in[lane];
  bins[lane + 32] = in[lane + 32];  //~ PTX211
  __syncwarp();
  out[lane] = bins[lane] + bins[lane + 32];  //~ PTX211
}
