// why: CUB's scans, warp reductions and radix ranks: inline assembly, raking by the first warp, ballots on digits
// ptxcheck-args: -W potential:PTX403 -W potential:PTX404 -W potential:PTX406 -W PTX410

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

__global__ void __launch_bounds__(128) scan(float *out) {
  using Scan = cub::BlockScan<float, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Scan::TempStorage storage;
  float value = out[threadIdx.x];
  Scan(storage).InclusiveSum(value, value);
  out[threadIdx.x] = value;
}

__global__ void __launch_bounds__(128) warp_scans(int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int value = out[threadIdx.x];
  Scan(storage).ExclusiveSum(value, value);
  out[threadIdx.x] = value;
}

__global__ void narrow_reduce(float *out) {
  using Reduce = cub::WarpReduce<float, 8>;
  __shared__ typename Reduce::TempStorage storage[16];
  float sum = Reduce(storage[threadIdx.x / 8]).Sum(out[threadIdx.x]);
  if (threadIdx.x % 8 == 0) out[threadIdx.x / 8] = sum;
}

__global__ void __launch_bounds__(128) sort(unsigned *keys) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
  __shared__ typename Sort::TempStorage storage;
  unsigned own[4];
  for (int i = 0; i < 4; ++i) own[i] = keys[threadIdx.x * 4 + i];
  Sort(storage).Sort(own);
  for (int i = 0; i < 4; ++i) keys[threadIdx.x * 4 + i] = own[i];
}
