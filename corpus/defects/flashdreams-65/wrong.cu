// source: https://github.com/NVIDIA/flashdreams/pull/65
// defect: the lanes that happen to run together at an `__activemask()` are synchronised, not those with a fragment to write
// class: B
// when: a warp of which the scheduler runs lanes apart before they ask for the mask
// found: missed

__global__ void depths(const unsigned *depth, unsigned *nearest, unsigned *color) {
  unsigned mine = depth[threadIdx.x];
  if (mine != 0) {
    unsigned active = __activemask();
    atomicMin(nearest, mine);
    if (mine > 7) color[32] = mine;
    __syncwarp(active);  //~ PTX410
    if (mine == *nearest) *color = threadIdx.x;
  }
}
