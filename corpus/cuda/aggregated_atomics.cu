// why: one atomic for all lanes that come along: activemask used at once, and the groups of match

__global__ void count_positive(int *counter, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) {
    unsigned active = __activemask();
    int leader = __ffs(active) - 1;
    if ((threadIdx.x & 31) == leader) atomicAdd(counter, __popc(active));
  }
}

__global__ void histogram(int *bins, const int *in) {
  int bin = in[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned peers = __match_any_sync(0xffffffffu, bin);
  int leader = __ffs(peers) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(&bins[bin], __popc(peers));
}

__global__ void filter(int *out, int *counter, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i];
  if (value > 0) {
    unsigned active = __activemask();
    unsigned below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    int leader = __ffs(active) - 1;
    int base = 0;
    if ((active & below) == 0) base = atomicAdd(counter, __popc(active));
    base = __shfl_sync(active, base, leader);
    out[base + __popc(active & below)] = value;
  }
}
