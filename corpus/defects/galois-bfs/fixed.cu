// fix: `__syncwarp()` between what is written and what is read, and before the next lane writes

constexpr int THREADS = 256;

__global__ void expand(unsigned *marks, const unsigned *first, const unsigned *edges) {
  __shared__ unsigned owner[THREADS / 32], begin[THREADS / 32], count[THREADS / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned from = first[node];
  unsigned left = first[node + 1] - from;
  while (__any_sync(~0u, left >= 32)) {
    if (left >= 32) owner[warp] = lane;
    __syncwarp();
    if (owner[warp] == lane) {
      begin[warp] = from;
      count[warp] = left;
      left = 0;
    }
    __syncwarp();
    const unsigned at = begin[warp], length = count[warp];
    for (unsigned i = lane; i < length; i += 32) marks[edges[at + i]] = 1;
    __syncwarp();
  }
}
