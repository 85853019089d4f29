// targets: sm_90 sm_120
// compilers: nvcc
// why: what a copy brings to shared memory is read before it is complete: a barrier waits for threads, not for copies

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

// Of the neighbour: no thread ever waits.
__global__ void neighbours(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  //~[O3] PTX702
}

// Of its own.
__global__ void own(int *out, const int *in) {
  __shared__ int tile[256];
  COPY(&tile[threadIdx.x], in + threadIdx.x);
  COMMIT();
  out[threadIdx.x] = tile[threadIdx.x];  //~[O3] PTX702
  WAIT_GROUP(0);
}

// Two groups, of which one may still be under way.
__global__ void depth(int *out, const int *in) {
  __shared__ int stages[2][256];
  COPY(&stages[0][threadIdx.x], in + threadIdx.x);
  COMMIT();
  COPY(&stages[1][threadIdx.x], in + 256 + threadIdx.x);
  COMMIT();
  WAIT_GROUP(1);
  int sum = stages[0][threadIdx.x];
  sum += stages[1][threadIdx.x];  //~[O3] PTX702
  out[threadIdx.x] = sum;
}
