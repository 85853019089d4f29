// fix: the lanes that are there are the mask

__device__ unsigned page_of(unsigned *heap, unsigned bytes) {
  unsigned active = __activemask();
  unsigned rank = __popc(active & ((1u << threadIdx.x % 32) - 1));
  return atomicAdd(heap, bytes) + rank;
}

__global__ void build(const unsigned *sizes, unsigned *heap, unsigned *pages) {
  unsigned size = sizes[threadIdx.x];
  if (size > 16) pages[threadIdx.x] = page_of(heap, size);
  __syncwarp();
  pages[threadIdx.x] += size;
}
