// fix: the sums have an array of a fixed size

__global__ void gemv(float *out, const float *matrix, const float *vector, int columns) {
  __shared__ float sums[4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += 128) sum += matrix[blockIdx.x * columns + k] * vector[k];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
