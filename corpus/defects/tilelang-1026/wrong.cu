// source: https://github.com/tile-ai/tilelang/issues/1026
// defect: a compiler puts the barrier between a read and a write of shared memory into the branch of the even threads
// class: A
// note: the store at the end is ours: without it the odd threads only end behind the branch
// found: default

__global__ void __launch_bounds__(32) pairs(float *out) {
  __shared__ float kept[32];
  int t = threadIdx.x;
  kept[t] = out[t];
  if (t % 2 == 0) {
    float mine = kept[t];
    __syncthreads();  //~ PTX411
    kept[t ^ 1] = mine;
  }
  out[t] = kept[t];
}
