// why: what CUB makes of a block reduction and a warp scan: shuffles in inline assembly, in nested scopes

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

__global__ void reduce(float *out, const float *in) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}

__global__ void scan(int *out) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage storage[4];
  int value = out[threadIdx.x];
  Scan(storage[threadIdx.x / 32]).InclusiveSum(value, value);
  out[threadIdx.x] = value;
}
