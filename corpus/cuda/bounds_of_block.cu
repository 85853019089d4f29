// ptxcheck-args: --launch-block 32,3
// why: addresses that the stated block makes wrong; clang takes dynamic shared memory for aligned to its elements

extern __shared__ float memory[];

// wrong: three numbers, and vectors of four behind them.
__global__ void behind_warps(const float4 *in, float4 *out, int n) {
  float4 *row = reinterpret_cast<float4 *>(memory + blockDim.y);
  for (int i = threadIdx.y * 32 + threadIdx.x; i < n; i += 96) row[i] = in[i];  //~[nvcc] PTX211
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x];  //~[nvcc] PTX211
}

// wrong: pairs of numbers behind three.
__global__ void pairs_behind(const double *in, double *out, int n) {
  double *row = reinterpret_cast<double *>(memory + blockDim.y * 5);
  row[n] = in[n];  //~[nvcc] PTX211
  __syncthreads();
  out[n] = row[n] + 1;  //~[nvcc] PTX211
}

// wrong: each warp has a part of three numbers for each row.
__global__ void parts_of_three(const int4 *in, int4 *out, int rows) {
  int *part = reinterpret_cast<int *>(memory) + rows * 4 * blockDim.y + blockDim.y;
  *reinterpret_cast<int4 *>(part) = in[threadIdx.x];  //~[nvcc] PTX211
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<int4 *>(part);  //~[nvcc] PTX211
}
