// why: arrays in shared memory that are read before anything has written them; without volatile, optimising compilers leave some of the reads out

// wrong: nothing writes it.
__global__ void __launch_bounds__(128) never_written(float *out) {
  __shared__ volatile float scale[4];
  out[threadIdx.x] *= scale[threadIdx.x / 32];  //~ PTX212
}

// wrong: the sum begins with what is there, and is stored afterwards.
__global__ void __launch_bounds__(128) added_to(float *out, const float *in) {
  __shared__ float sum;
  if (threadIdx.x == 0) {
    float own = sum;  //~ PTX212
    for (int i = 0; i < 128; i++) own += in[i];
    sum = own;
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}

// wrong: the neighbour is read before the barrier, all is written after it.
__global__ void __launch_bounds__(128) read_first(int *out, const int *in) {
  __shared__ int line[128];
  int last = line[threadIdx.x ^ 1];  //~ PTX212
  __syncthreads();
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = line[127 - threadIdx.x] + last;
}

// wrong: the other array was meant.
__global__ void __launch_bounds__(64) other_array(int *out, const int *in) {
  __shared__ int one[64];
  __shared__ volatile int other[64];
  one[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = one[63 - threadIdx.x] * other[63 - threadIdx.x];  //~ PTX212
}

// wrong: a flag that nobody sets.
__global__ void __launch_bounds__(64) flag_without_value(int *out, const int *in) {
  __shared__ volatile bool is_done;
  if (!is_done)  //~ PTX212
    out[threadIdx.x] = in[threadIdx.x];
}
