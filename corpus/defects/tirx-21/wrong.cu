// source: https://github.com/mlc-ai/TIRx-kernels/pull/21
// defect: warps of two roles meet at a named barrier with `bar.sync`, which promises that all execute the same instruction
// class: C
// when: whole warps come to each barrier, and they have one number and count; synccheck reports it
// found: missed

__shared__ float tile[64];

__global__ void __launch_bounds__(64) roles(const float *in, float *out) {
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.sync 5, 64;" ::: "memory");  //~ PTX411
    out[threadIdx.x] = tile[threadIdx.x + 32];
  } else {
    tile[threadIdx.x] = in[threadIdx.x] * 2;
    asm volatile("bar.sync 5, 64;" ::: "memory");  //~ PTX411
  }
}
