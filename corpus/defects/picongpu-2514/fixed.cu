// fix: `__activemask()` says which lanes are there
// left: PTX418

__device__ int increment(int *counter) {
  unsigned mask = __activemask();
  int lane = threadIdx.x % 32, leader = __ffs(mask) - 1, base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(mask));
  base = __shfl_sync(mask, base, leader);
  return base + __popc(mask & ((1u << lane) - 1));
}

__global__ void collect(const int *data, int wanted, int *counter, int *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (data[i] == wanted) found[increment(counter)] = i;
  __syncthreads();
  if (threadIdx.x == 0) found[blockIdx.x] = *counter;
}
