// why: a mask that somebody else chose is not judged: a parameter, a field of one, memory of any kind, an argument
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX406

struct Team {
  unsigned mask;
  int leader;
};

__constant__ unsigned chosen[4];

__global__ void parameter(int *out, unsigned mask) {
  int value = out[threadIdx.x];
  if (mask >> (threadIdx.x & 31) & 1) value += __shfl_xor_sync(mask, value, 1);
  out[threadIdx.x] = value;
}

__global__ void field(int *out, Team team) {
  int value = out[threadIdx.x];
  if (value > 0) value = __shfl_sync(team.mask, value, team.leader);
  out[threadIdx.x] = value;
}

__global__ void global_memory(int *out, const unsigned *masks) {
  int value = out[threadIdx.x];
  if (threadIdx.x & 1) value = __any_sync(masks[blockIdx.x], value > 0);
  out[threadIdx.x] = value;
}

__global__ void shared_memory(int *out) {
  __shared__ unsigned mask;
  if (threadIdx.x == 0) mask = 0x0000ffffu;
  __syncthreads();
  int value = out[threadIdx.x];
  if ((threadIdx.x & 31) < 16) value = __shfl_sync(mask, value, 3);
  out[threadIdx.x] = value;
}

__global__ void constant_memory(int *out) {
  int value = out[threadIdx.x];
  if (threadIdx.x & 2) value += __shfl_xor_sync(chosen[blockIdx.x & 3], value, 2);
  out[threadIdx.x] = value;
}

__noinline__ __device__ int joined(unsigned mask, int value) {
  __syncwarp(mask);
  return value + 1;
}

__global__ void argument(int *out, unsigned mask) {
  if (threadIdx.x & 4) out[threadIdx.x] = joined(mask, out[threadIdx.x]);
}
