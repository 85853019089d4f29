// source: https://github.com/ComputationalRadiationPhysics/picongpu/issues/2514
// defect: an aggregated increment asks with a full mask which lanes are there, in code that only some come to
// class: B
// when: a warp in which some lanes have the wanted value and others have not
// found: potential

__device__ int increment(int *counter) {
  unsigned mask = __ballot_sync(0xffffffff, 1);  //~ PTX401 PTX402
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
