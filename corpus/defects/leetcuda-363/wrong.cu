// source: https://github.com/xlite-dev/LeetCUDA/issues/363
// defect: the mask names the lower half of the warp, and all lanes call
// class: A
// found: default

__global__ void first_of_warp(int *x) {
  int t = threadIdx.x;
  x[t] = __shfl_sync(0x0000ffff, t, 0);  //~ PTX403
  __syncwarp();
}
