// source: https://github.com/alpaka-group/mallocMC/pull/145
// defect: lanes that allocate count each other with a full mask, wherever they are called
// class: B
// when: a warp in which sizes of both kinds occur
// found: potential

__device__ unsigned page_of(unsigned *heap, unsigned bytes) {
  unsigned active = __ballot_sync(0xffffffff, bytes > 0);  //~ PTX401 PTX402
  unsigned rank = __popc(active & ((1u << threadIdx.x % 32) - 1));
  return atomicAdd(heap, bytes) + rank;
}

__global__ void build(const unsigned *sizes, unsigned *heap, unsigned *pages) {
  unsigned size = sizes[threadIdx.x];
  if (size > 16) pages[threadIdx.x] = page_of(heap, size);
  __syncwarp();
  pages[threadIdx.x] += size;
}
