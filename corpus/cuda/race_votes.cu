// why: votes of a warp in the place of votes of the block, or one vote too few

// wrong: the vote is that of the warp.
__global__ void __launch_bounds__(128) warp_vote(int *out, const int *in) {
  __shared__ int s[128];
  int v = in[threadIdx.x];
  s[threadIdx.x] = v;
  int any = __any_sync(0xffffffffu, v < 0);
  out[threadIdx.x] = s[127 - threadIdx.x] + any;  // not found: block size is not stated
}

// wrong: no vote and no barrier between the reads of a round and the stores of the next one.
__global__ void __launch_bounds__(256) count_between(int *out, const int *in, int rounds) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    s[t] = in[k * 256 + t];  //~ PTX416
    int many = __syncthreads_count(s[t] > 0);
    sum += s[255 - t] * many;
  }
  out[t] = sum;
}

// wrong: odd pairs are exchanged without a barrier after the even ones.
__global__ void __launch_bounds__(128) even_and_odd(int *data) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = data[t];
  __syncthreads();
  for (;;) {
    int swapped = 0;
    if (t % 2 == 0) {
      int a = s[t], b = s[t + 1];
      s[t] = min(a, b), s[t + 1] = max(a, b);
      swapped = a > b;
    }
    if (t % 2 == 1 && t < 127) {
      int a = s[t], b = s[t + 1];  //~ PTX415
      s[t] = min(a, b), s[t + 1] = max(a, b);
      swapped = a > b;
    }
    if (!__syncthreads_or(swapped)) break;
  }
  data[t] = s[t];
}

// wrong: the vote comes after the reads, so that it does not part the writes from them.
__global__ void __launch_bounds__(128) vote_too_late(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  int other = s[t ^ 64];  // not found: not between warps 0 and 1
  out[t] = __syncthreads_and(other > 0) ? other : 0;
}
