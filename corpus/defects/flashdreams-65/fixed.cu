// fix: a ballot before the branch names the lanes
// left: PTX417 PTX418

__global__ void depths(const unsigned *depth, unsigned *nearest, unsigned *color) {
  unsigned mine = depth[threadIdx.x];
  unsigned active = __ballot_sync(0xffffffff, mine != 0);
  if (mine != 0) {
    atomicMin(nearest, mine);
    if (mine > 7) color[32] = mine;
    __syncwarp(active);
    if (mine == *nearest) *color = threadIdx.x;
  }
}
