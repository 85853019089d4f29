// ptxcheck-args: --launch-shared 1024 --launch-block 16,16
// why: accesses past the 1,024 bytes of dynamic shared memory that each launch has

extern __shared__ __align__(16) unsigned char memory[];
extern __shared__ float numbers[];

// wrong: 256 threads, and 256 doubles.
__global__ void doubles(double *out, const double *in) {
  double *d = reinterpret_cast<double *>(memory);
  int t = threadIdx.y * 16 + threadIdx.x;
  d[t] = in[t];  //~ PTX211
  __syncthreads();
  out[t] = d[255 - t];  //~ PTX211
}

// wrong: one number past the end.
__global__ void one_more(float *out, const float *in) {
  if (threadIdx.x == 0 && threadIdx.y == 0) numbers[256] = in[0];  //~[!nvcc-G] PTX211
  __syncthreads();
  out[threadIdx.x] = numbers[256];  //~ PTX211
}

// wrong: two arrays as long as the block.
__global__ void second_array(float *out, const float *in) {
  int t = threadIdx.y * blockDim.x + threadIdx.x, n = blockDim.x * blockDim.y;
  float *other = numbers + n;
  numbers[t] = in[t];
  other[t] = in[t + n];  //~ PTX211
  __syncthreads();
  out[t] = numbers[n - 1 - t];
}

// wrong: rows of 17 numbers.
__global__ void padded(float *out, const float *in) {
  int x = threadIdx.x, y = threadIdx.y;
  numbers[y * 17 + x] = in[y * 16 + x];  //~ PTX211
  __syncthreads();
  out[y * 16 + x] = numbers[x * 17 + y];  //~ PTX211
}

// wrong: vectors of 16 bytes.
__global__ void vectors(float4 *out, const float4 *in) {
  float4 *v = reinterpret_cast<float4 *>(memory);
  int t = threadIdx.y * 16 + threadIdx.x;
  if (t < 65) v[t] = in[t];  //~[!ir] PTX211
  __syncthreads();
  out[t] = v[t % 64];
}

// wrong: the count lies past the end of the numbers, which fill all of it.
__global__ void count_behind(int *out, const int *in) {
  int *count = reinterpret_cast<int *>(memory + 1024);
  int t = threadIdx.y * 16 + threadIdx.x;
  if (t == 0) *count = 0;  //~ PTX211
  __syncthreads();
  if (in[t] > 0) atomicAdd(count, 1);
  __syncthreads();
  out[t] = *count;  //~ PTX211
}

// wrong: the last row of the halo.
__global__ void halo(float *out, const float *in) {
  int x = threadIdx.x, y = threadIdx.y;
  numbers[y * 16 + x] = in[y * 16 + x];
  if (y == 15) numbers[16 * 16 + x] = in[16 * 16 + x];  //~ PTX211
  __syncthreads();
  out[y * 16 + x] = numbers[y * 16 + x] + numbers[(y + 1) * 16 + x];  //~ PTX211
}
