// why: __syncthreads_or, _and and _count are block barriers, and so are barrier.red in assembly

// right: the vote stands between the writes and the reads.
__global__ void __launch_bounds__(128) or_between(int *out, const int *in) {
  __shared__ int s[128];
  int v = in[threadIdx.x];
  s[threadIdx.x] = v;
  int any = __syncthreads_or(v < 0);
  out[threadIdx.x] = any ? s[127 - threadIdx.x] : v;
}

// right: in rounds, the vote of a round parts its reads from the writes after it; a barrier before the next reads.
__global__ void until_all_agree(int *data) {
  extern __shared__ int s[];
  int t = threadIdx.x, n = blockDim.x;
  s[t] = data[t];
  __syncthreads();
  for (;;) {
    int left = s[(t + n - 1) % n], here = s[t], next = min(left, here);
    if (__syncthreads_and(next == here)) break;
    s[t] = next;
    __syncthreads();
  }
  data[t] = s[t];
}

// right: the count of a vote is one for the block, and the vote parts writes and reads.
__global__ void __launch_bounds__(256) count_between(int *out, const int *in, int rounds) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    s[t] = in[k * 256 + t];
    int many = __syncthreads_count(s[t] > 0);
    sum += s[255 - t] * many;
    if (__syncthreads_or(sum < 0)) break;
  }
  out[t] = sum;
}

// right: the same in assembly.
__global__ void __launch_bounds__(64) barrier_red(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t], many;
  s[t] = v;
  asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(many) : "r"(v) : "memory");
  out[t] = s[63 - t] + many;
}
