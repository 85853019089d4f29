// why: it matters what a thread reads, where threads settle a word with numbers of their own, or in a way that changes it again

// Each thread has a limit of its own: one of them is lost.
__global__ void own_limits(const int *first, const int *limits, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place = min(place, limits[threadIdx.x]);  //~ PTX415
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

// Done twice, it is another number.
__global__ void added(const int *first, int more, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  place += more;  //~ PTX416
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}

// The old value is used, too.
__global__ void read_elsewhere(const int *first, int last, int *out) {
  __shared__ int place;
  if (threadIdx.x == 0) place = first[blockIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = place;
  if (threadIdx.x == 32) place = last;  //~ PTX416
}
