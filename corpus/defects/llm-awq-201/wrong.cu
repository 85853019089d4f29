// source: https://github.com/mit-han-lab/llm-awq/pull/201
// defect: a product of a matrix and a vector keeps a sum for each warp in dynamic shared memory, and is launched without any
// class: B
// when: launches without dynamic shared memory
// launch: --launch-block 128 --launch-shared 0
// found: its launch

extern __shared__ float sums[];

__global__ void gemv(float *out, const float *matrix, const float *vector, int columns) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += 128) sum += matrix[blockIdx.x * columns + k] * vector[k];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
  if (lane == 0) sums[warp] = sum;  //~ PTX211
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
