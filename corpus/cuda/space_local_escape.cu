// why: a pointer to a thread's own array is left where other threads find it

__device__ int *last;

__global__ void keep(int **out) {
  int own[4];
  own[threadIdx.x & 3] = threadIdx.x;
  out[threadIdx.x] = own;  //~[!clang-G] PTX206
  last = own + 1;          //~ PTX206
}

__global__ void keep_the_value(int *out) {
  int own[4];
  own[threadIdx.x & 3] = threadIdx.x;
  *out = own[out[1] & 3];
}
