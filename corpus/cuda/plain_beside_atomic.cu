// ptxcheck-args: -W PTX418
// why: plain accesses to memory that atomics of other threads change at the same time

// wrong: compared by a plain load first.
__global__ void checked_first(int *best, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < *best) atomicMin(best, in[i]);  //~ PTX418?
}

// wrong: the same at a place that depends on data.
__global__ void checked_at_data(int *best, const int *key, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int *place = &best[key[i]];
  if (in[i] > *place) atomicMax(place, in[i]);  //~ PTX418?
}

// wrong: a step of shortest paths in place.
__global__ void relax_in_place(int *dist, const int *first, const int *to, const int *length, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = first[v]; e < first[v + 1]; e++) atomicMin(&dist[to[e]], dist[v] + length[e]);  //~ PTX418?
}

// wrong: cleared by the first thread while others already count.
__global__ void cleared_here(int *count, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *count = 0;  //~ PTX418?
  if (i < n && in[i] > 0) atomicAdd(count, 1);
}

// wrong: a barrier of the block does not wait for other blocks.
__global__ void counted_and_used(int *count, float *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) atomicAdd(count, 1);
  __syncthreads();
  if (i < n) out[i] = in[i] / (float)*count;  //~ PTX418?
}

// wrong: a variable of the module.
__device__ unsigned edges;
__global__ void add_edges(unsigned *out, const unsigned *degree, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&edges, degree[i]);
  out[i] = edges;  //~ PTX418?
}

// wrong: read through the cache for constants, which does not see the atomics.
__global__ void through_the_read_only_path(int *value, const int *first, const int *to, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int own = __ldg(&value[v]);  //~[!G] PTX418?
  for (int e = first[v]; e < first[v + 1]; e++) atomicAdd(&value[to[e]], own);
}

// wrong: a plain store undoes what others have added.
__global__ void stored_beside(float *residual, const int *first, const int *to, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  float own = residual[v];  //~ PTX418?
  residual[v] = 0;
  for (int e = first[v]; e < first[v + 1]; e++) atomicAdd(&residual[to[e]], own);
}
