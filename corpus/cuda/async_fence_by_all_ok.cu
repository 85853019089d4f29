// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX701
// why: all threads have a fence behind the last of several stores, before the barrier in front of the copy

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_ADD(to, from, bytes)                                                                                          \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;\n\tcp.async.bulk.commit_group;\n\t" \
               "cp.async.bulk.wait_group.read 0;" ::"l"(__cvta_generic_to_global(to)), "r"(SHARED(from)),                  \
               "r"(static_cast<unsigned>(bytes)) : "memory")

__global__ void histogram(int *out, const unsigned char *in, int n) {
  __shared__ alignas(128) int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&bins[in[i]], 1);
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) BULK_ADD(out, bins, 1024);
}

__global__ void in_three_steps(int *out, const int *in) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  int other = tile[255 - threadIdx.x];
  __syncthreads();
  tile[threadIdx.x] += other;
  FENCE();
  __syncthreads();
  __syncthreads();
  if (threadIdx.x == 0) BULK_ADD(out, tile, 1024);
}
