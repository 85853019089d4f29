// Adds the upper half of each warp to the lower. The mask is wrong on purpose: a port from 64-lane wavefronts left it.
__global__ void add_halves(float *values) {
  const unsigned long long mask = 0xffffffffull;
  float value = values[threadIdx.x];
  value += __shfl_down_sync((unsigned)(mask >> 32), value, 16);
  values[threadIdx.x] = value;
}

void launch_add_halves(float *values) { add_halves<<<1, 32>>>(values); }
