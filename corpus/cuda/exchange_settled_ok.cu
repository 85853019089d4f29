// why: what all threads do to one word leaves the same, whether they read the old value or what another thread has left
// ptxcheck-args: -W conditional

__global__ void clamp(const int *first, int last, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place = min(place, last);
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void mark(const int *first, int bits, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place |= bits;
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void mark_constant(const int *first, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place |= 4;
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void mask_out(const unsigned *first, unsigned keep, unsigned *out) {
  __shared__ unsigned place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place &= keep;
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void keep_between(const int *first, int least, int most, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place = max(min(place, most), least);
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void at_least_the_block(const unsigned *first, unsigned *out) {
  __shared__ unsigned place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place = max(place, blockDim.x);
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void limit_from_memory(const int *first, const int *limit, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place = min(place, *limit);
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

__global__ void __launch_bounds__(32) of_one_warp(const int *first, int last, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncwarp();
  place = min(place, last);
  out[blockIdx.x * 32 + threadIdx.x] = place;
}
