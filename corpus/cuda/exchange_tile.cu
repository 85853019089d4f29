// targets: sm_75 sm_90 sm_120
// ptxcheck-args: --launch-block 16,16
// why: steps of a sum in a block of two dimensions, whose threads are counted through: each reads what others write in it

constexpr int THREADS = 256;

__global__ void trace(float *out, const float *left, const float *right, int rows, int columns) {
  __shared__ float sums[THREADS];
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int row = threadIdx.y; row < rows; row += blockDim.y)
      sum += left[row * columns + column] * right[row * columns + column];
  sums[t] = sum;
  __syncthreads();
#pragma unroll
  for (int by = THREADS / 2; by > warpSize; by >>= 1) {
    if (t < by) sums[t] += sums[t + by];
    __syncthreads();
  }
  if (t < warpSize) {
#pragma unroll
    for (int by = warpSize; by > 0; by >>= 1) {
      sums[t] += sums[t + by];  //~ PTX415
      __syncwarp();
    }
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}
