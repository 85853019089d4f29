// targets: sm_90 sm_120
// why: mapa is given the rank of the CTA itself where its result is used as an address of that CTA
#define K extern "C" __global__ void
#define TILE \
  __shared__ int tile[64]; \
  tile[threadIdx.x] = 1; \
  __syncthreads();

__device__ __forceinline__ unsigned in_window(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ unsigned map(unsigned at, unsigned rank) {
  unsigned mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(at), "r"(rank));
  return mapped;
}
__device__ __forceinline__ unsigned own_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ int load_shared(unsigned at) {
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
  return value;
}

K __cluster_dims__(2) leader(int *out) {
  TILE
  unsigned at = map(in_window(tile), 0);
  if (own_rank() == 0) out[0] = load_shared(at);
}

K __cluster_dims__(4) second(int *out) {
  TILE
  if (own_rank() == 1) out[0] = load_shared(map(in_window(tile), 1));
}

K __cluster_dims__(2) each_rank(int *out) {
  TILE
  for (unsigned rank = 0; rank < 2; rank++) {
    unsigned at = map(in_window(tile), rank);
    if (rank == own_rank()) out[rank] = load_shared(at);
  }
}

K __cluster_dims__(2) folded(int *out) { TILE out[0] = load_shared(map(in_window(tile), (own_rank() + 2) % 2)); }

K __cluster_dims__(1) alone(int *out) { TILE out[0] = load_shared(map(in_window(tile), 0)); }
