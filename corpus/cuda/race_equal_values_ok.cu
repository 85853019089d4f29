// why: several threads write one place, but all the same value

// right: all store 3 and read 3.
__global__ void one_constant(int *out, const int *in) {
  __shared__ int count;
  count = 3;
  out[threadIdx.x] = in[threadIdx.x] * count;
}

// right: all that find something store 1; cleared before a barrier, read after one.
__global__ void found(int *out, const int *in, int key, int n) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (in[i] == key) any = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = any;
}

// right: all store the parameter, a barrier, all read.
__global__ void a_parameter(int *out, int n) {
  __shared__ int limit[2];
  limit[0] = n;
  limit[1] = n * 2;
  __syncthreads();
  out[threadIdx.x] = limit[threadIdx.x & 1];
}

// right: the threads of a column store the sum of the column's number, each the same.
__global__ void __launch_bounds__(256) same_in_a_column(int *out, const int *in) {
  __shared__ int square[32];
  int lane = threadIdx.x & 31;
  square[lane] = lane * lane + 1;
  out[threadIdx.x] = square[lane] * in[threadIdx.x];
}

// right: all load the same element of read-only memory and store it.
__global__ void same_element(float *out, const float *__restrict__ scale, const float *in) {
  __shared__ float s;
  s = __ldg(&scale[blockIdx.x]);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] * s;
}

// right: a table of which each element is stored by all warps, with the value that its number gives.
__global__ void __launch_bounds__(128) table_by_all_warps(int *out, const int *in) {
  __shared__ int table[64];
  int lane = threadIdx.x & 31;
  table[lane] = lane * 3;
  table[lane + 32] = lane * 3 + 96;
  __syncwarp();
  out[threadIdx.x] = table[in[threadIdx.x] & 63];
}
