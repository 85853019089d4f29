// why: accesses in loops that are outside of the array the first time

#define BLOCK(n) __launch_bounds__(n)

// wrong: four rounds of 64 threads clear an array of 16.
__global__ void BLOCK(64) cleared_by_all(int *out) {
  __shared__ int count[16];
#pragma unroll 1
  for (int j = 0; j < 4; j++) count[threadIdx.x + j * 64] = 0;  //~[!ir-G] PTX211
  __syncthreads();
  if (__all_sync(~0u, 1)) out[threadIdx.x] = count[threadIdx.x % 16];
}

// wrong: the loop begins at 16.
__global__ void BLOCK(32) begins_at_the_end(int *out, int n) {
  __shared__ int line[16];
  if (threadIdx.x < 16) line[threadIdx.x] = n;
  __syncwarp();
  int sum = 0;
#pragma unroll 1
  for (int i = 16; i >= 0; i--) sum += line[i];
  out[threadIdx.x] = sum;
}
