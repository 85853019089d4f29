// ptxcheck-args: -W conditional
// why: after a shuffle whose mask leaves lanes out, these lanes come to the barrier like the others: nobody skips it

__global__ void after_wrong_mask(const float *in, float *out) {
  __shared__ float part[32];
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int by = 16; by > 0; by >>= 1) value = fminf(value, __shfl_down_sync(0xffffffff, value, by));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  int warps = (blockDim.x + 31) / 32;
  if (threadIdx.x < 32) {
    value = threadIdx.x < warps ? part[threadIdx.x] : part[0];
    unsigned mask = 0xffffffffu >> (32 - warps);
    for (int by = 16; by > 0; by >>= 1) value = fminf(value, __shfl_down_sync(mask, value, by));  //~[O3] PTX403? PTX404?
    //~^[G] PTX403?
  }
  __syncthreads();
  if (threadIdx.x == 0) part[0] = value;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = part[0];
}
