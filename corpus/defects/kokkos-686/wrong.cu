// source: https://github.com/kokkos/kokkos/issues/686
// defect: scratch memory is declared as bytes and used for doubles
// class: B
// when: the assembler places the array at an address that is no multiple of 8
// found: missed

__global__ void __launch_bounds__(32) sums(const double *in, double *out) {
  __shared__ char count;
  __shared__ char scratch[32 * 8];
  double *values = reinterpret_cast<double *>(scratch);
  if (threadIdx.x == 0) count = 32;
  values[threadIdx.x] = in[threadIdx.x];  //~ PTX211
  __syncwarp();
  out[threadIdx.x] = values[threadIdx.x ^ 1] / count;  //~ PTX211
}
