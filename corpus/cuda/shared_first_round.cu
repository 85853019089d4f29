// ptxcheck-args: -W potential:PTX212
// why: an array is read in the first round of a loop before anything is stored there

#define BLOCK(n) __launch_bounds__(n)

// wrong: the greatest number of each row so far; the first round compares with what is left there.
__global__ void BLOCK(128) running_maximum(float *out, const float *in, int tiles) {
  __shared__ float greatest[128];
  float sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    float old = greatest[threadIdx.x];  //~[!nvcc-G] PTX212?
    float now = fmaxf(old, in[tile * 128 + threadIdx.x]);
    sum = sum * exp2f(old - now) + 1;
    greatest[threadIdx.x] = now;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// wrong: the sum of all rounds begins with nothing.
__global__ void BLOCK(256) sum_of_rounds(int *out, const int *in, int rounds) {
  __shared__ int total;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = total;  //~ PTX212?
    __syncthreads();
    total = before + in[round];
    __syncthreads();
  }
  out[threadIdx.x] = rounds;
}

// wrong: the neighbour's number of the round before.
__global__ void BLOCK(64) neighbour_before(int *out, const int *in, int rounds) {
  __shared__ int line[64];
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    int before = line[63 - threadIdx.x];  //~ PTX212?
    __syncthreads();
    line[threadIdx.x] = in[round * 64 + threadIdx.x];
    __syncthreads();
    out[round * 64 + threadIdx.x] = before * 3;
  }
}
