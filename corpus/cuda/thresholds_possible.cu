// ptxcheck-args: -W potential:PTX211
// why: arrays of fewer elements than a warp has lanes, accessed by the number of the thread: right where the block has as many threads as the
// array has elements, and nothing shows that it has more

#define K extern "C" __global__ void

K row_of_sixteen(int *out, const int *in) {
  __shared__ int s[16];
  s[threadIdx.x] = in[threadIdx.x];  //~ PTX211?
  __syncthreads();
  out[threadIdx.x] = s[0];
}

struct Row {
  int values[8];
};

K row_by_value(int *out, Row row) {
  out[threadIdx.x] = row.values[threadIdx.x];  //~[!ir] PTX211?
}
