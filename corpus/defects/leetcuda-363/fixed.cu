// fix: the mask names all lanes

__global__ void first_of_warp(int *x) {
  int t = threadIdx.x;
  x[t] = __shfl_sync(0xffffffff, t, 0);
  __syncwarp();
}
