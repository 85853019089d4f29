// ptxcheck-args: --launch-block 32,3
// why: addresses that the stated block makes right, or does not decide

extern __shared__ float memory[];

// right: rounded up to four.
__global__ void rounded_up(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory + (blockDim.y + 3) / 4 * 4);
  for (int i = threadIdx.y * 32 + threadIdx.x; i < n; i += 96) row[i] = in[i];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];
}

// right: the width of the block is a multiple of four.
__global__ void behind_threads(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory + blockDim.x);
  for (int i = threadIdx.y * 32 + threadIdx.x; i < n; i += 96) row[i] = in[i];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];
}

// right: 96 numbers.
__global__ void behind_all_threads(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory + blockDim.x * blockDim.y);
  for (int i = threadIdx.y * 32 + threadIdx.x; i < n; i += 96) row[i] = in[i];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];
}

// right: a parameter that may be what is missing.
__global__ void behind_a_parameter(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory + blockDim.y + n);
  row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];
}

// right: single numbers behind three.
__global__ void single_numbers(const float *in, float *out, int n) {
  float *row = memory + blockDim.y;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < n; i += 96) row[i] = in[i];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];
}

// right: twelve numbers, three vectors.
__global__ void four_for_each(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory) + blockDim.y;
  row[n] = in[n];
  __syncthreads();
  out[threadIdx.x] = row[n];
}

// right: vectors where the address allows them.
__global__ void tested(const float *in, float *out, int n) {
  float *row = memory + blockDim.y;
  if (reinterpret_cast<unsigned long long>(row) % 16 == 0)
    *reinterpret_cast<float4 *>(row) = *reinterpret_cast<const float4 *>(in);
  else
    for (int i = 0; i < 4; i++) row[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = row[n];
}

// right: another kernel for blocks whose height is no multiple of four.
__global__ void tested_height(const float *in, float *out, int n) {
  float *row = memory + blockDim.y;
  if (blockDim.y % 4 == 0)
    *reinterpret_cast<float4 *>(row) = *reinterpret_cast<const float4 *>(in);
  else
    for (int i = 0; i < 4; i++) row[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = row[n];
}
