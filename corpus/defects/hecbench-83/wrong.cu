// source: https://github.com/ORNL/HeCBench/issues/83
// defect: six bits of the data choose a bin of a shared histogram that has 32
// class: B
// when: data with bit 7 set
// found: missed

__shared__ unsigned char bins[32 * 128];

__global__ void __launch_bounds__(128) histogram(const unsigned *data, unsigned char *out) {
  unsigned word = data[threadIdx.x];
  bins[threadIdx.x + ((word >> 2) & 63) * 128] = 1;  //~ PTX211
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}
