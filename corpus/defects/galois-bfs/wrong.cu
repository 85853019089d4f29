// source: https://github.com/IntelligentSoftwareSystems/Galois/blob/master/lonestardist/bfs/bfs_push_cuda.cu
// defect: a lane with a long list writes its list's place to shared memory, and the others read it with nothing in between
// class: B
// when: a warp in which a lane has a list of 32 elements or more
// found: potential

constexpr int THREADS = 256;

__global__ void expand(unsigned *marks, const unsigned *first, const unsigned *edges) {
  __shared__ unsigned owner[THREADS / 32], begin[THREADS / 32], count[THREADS / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned from = first[node];
  unsigned left = first[node + 1] - from;
  while (__any_sync(~0u, left >= 32)) {
    if (left >= 32) owner[warp] = lane;
    if (owner[warp] == lane) {  //~ PTX415
      begin[warp] = from;
      count[warp] = left;
      left = 0;
    }
    const unsigned at = begin[warp], length = count[warp];  //~ PTX415
    for (unsigned i = lane; i < length; i += 32) marks[edges[at + i]] = 1;
  }
}
