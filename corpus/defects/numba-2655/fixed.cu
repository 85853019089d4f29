// fix: the error is a value, and all come to the barrier

__global__ void divide(int *pad) {
  int t = threadIdx.x, divisor = pad[t] + 1;
  bool is_error = t < 14 && divisor == 0;
  if (t < 14 && !is_error) pad[32 + t] = 5 / divisor;
  if (t == 1 && !is_error) pad[0] = 112211;
  __syncthreads();
  if (t == 17) pad[1] = pad[0];
  pad[64 + t] = 321;
}
