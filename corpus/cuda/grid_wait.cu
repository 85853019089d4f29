// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX713
// why: memory that the kernel before may write is accessed before the wait for it

#define GRID_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")

// A scheduler reads the size of the first group when it is made.
struct Walk {
  const int *sizes;
  int group, rows;
  __device__ Walk(const int *sizes) : sizes(sizes), group(0), rows(sizes[0]) {}  //~[nvcc-O3,ir-O3] PTX713?
  __device__ int next(int groups) {
    while (group + 1 < groups && rows < 64) rows += sizes[++group];
    return group;
  }
};

__global__ void walk(const int *sizes, int *out, int groups) {
  Walk walk(sizes);
  GRID_WAIT();
  out[threadIdx.x] = walk.next(groups) + threadIdx.x;
}

// What the kernel adds to is cleared too early.
__global__ void cleared(int *sums, const int *in) {
  sums[threadIdx.x] = 0;  //~[O3] PTX713?
  GRID_WAIT();
  atomicAdd(&sums[in[threadIdx.x] & 255], 1);
}
