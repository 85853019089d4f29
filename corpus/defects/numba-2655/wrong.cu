// source: https://github.com/numba/numba/issues/2655
// defect: a division by zero sends some threads to the end of the kernel, past the barrier of the others
// class: B
// when: one of the first 14 elements is -1
// found: potential

__global__ void divide(int *pad) {
  int t = threadIdx.x, divisor = pad[t] + 1;
  if (t < 14) {
    if (divisor == 0) goto error;
    pad[32 + t] = 5 / divisor;
  }
  if (t == 1) pad[0] = 112211;
  __syncthreads();  //~ PTX411
  if (t == 17) pad[1] = pad[0];
error:
  pad[64 + t] = 321;
}
