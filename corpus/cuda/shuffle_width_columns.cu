// why: the columns of a matrix as the width of a shuffle: right for 16 of them, not for 24

template <int columns>
__device__ float sum_of_row(float value) {
  for (int offset = 1; offset < columns; offset *= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset, columns);  //~ PTX405
  return value;
}

__global__ void row_sum(float *out, const float *in) { out[threadIdx.x] = sum_of_row<24>(in[threadIdx.x]); }
