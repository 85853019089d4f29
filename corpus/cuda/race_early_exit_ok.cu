// why: threads that leave early, by whole warps, by blocks or one by one: those that stay wait for each other

// right: threads behind the end leave before anything is shared; those that stay meet at the barrier.
__global__ void __launch_bounds__(128) behind_the_end(int *out, const int *in, int n) {
  __shared__ int s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = s[threadIdx.x ^ 1];
}

// right: a block without work leaves as a whole.
__global__ void __launch_bounds__(256) block_without_work(float *out, const float *in, const int *length) {
  __shared__ float s[256];
  int n = length[blockIdx.x];
  if (n == 0) return;
  s[threadIdx.x] = threadIdx.x < n ? in[blockIdx.x * 256 + threadIdx.x] : 0;
  __syncthreads();
  out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x] / n;
}

// right: the warp that leaves has written before the barrier what the others read after it.
__global__ void __launch_bounds__(128) leaves_after_its_part(int *out, const int *in) {
  __shared__ int head[32];
  int t = threadIdx.x;
  if (t < 32) head[t] = in[t] + 1;
  __syncthreads();
  if (t < 32) return;
  out[t - 32] = head[31 - (t & 31)];
}

// right: `continue` in a round that the whole block skips.
__global__ void __launch_bounds__(128) skipped_rounds(int *out, const int *in, const int *use, int rounds) {
  __shared__ int s[128];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (!use[k]) continue;
    s[t] = in[k * 128 + t];
    __syncthreads();
    sum += s[127 - t];
    __syncthreads();
  }
  out[t] = sum;
}

// right: all leave the loop in the same round: what decides is read by all between two barriers.
__global__ void __launch_bounds__(128) leaves_together(int *out, const int *in, int rounds) {
  __shared__ int stop, s[128];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (t == 0) stop = in[k] < 0;
    s[t] = in[k + t];
    __syncthreads();
    bool over = stop != 0;
    sum += s[127 - t];
    __syncthreads();
    if (over) break;
  }
  out[t] = sum;
}
