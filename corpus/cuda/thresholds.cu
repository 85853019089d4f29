// why: wrong in every block of more than so many threads, and right in smaller ones: masks of fewer lanes than a warp has, barriers under a
// test of the thread's number, accesses by thread beyond an array

#define K extern "C" __global__ void

// Masks: a warning, since nothing shows that blocks are larger (16, 8, 24, 1 threads).
K sum_of_sixteen(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffu, v, 1);  //~ PTX403
  out[threadIdx.x] = v;
}

K vote_of_eight(int *out, const int *in) {
  out[threadIdx.x] = __ballot_sync(0xffu, in[threadIdx.x] > 0);  //~ PTX403
}

K step_of_twenty_four(int *out, const int *in) {
  __shared__ int s[24];
  if (threadIdx.x < 24) s[threadIdx.x] = in[threadIdx.x];
  __syncwarp(0xffffffu);  //~ PTX403
  out[threadIdx.x] = s[0];
}

// The largest mask counts: in a block of 8 threads the other call is wrong.
K sums_of_two_sizes(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffu, v, 8);  //~ PTX403
  v += __shfl_xor_sync(0xffu, v, 4);    //~ PTX403
  out[threadIdx.x] = v;
}

// A full mask shows that blocks have a warp: no threshold.
K beside_a_full_mask(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  v += __shfl_xor_sync(0xffffu, v, 2);  //~ PTX403
  out[threadIdx.x] = v;
}

// A test of the thread's number shows that blocks are larger.
K beside_a_test(int *out, const int *in) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(0xffffu, v, 1);  //~ PTX403
  if (threadIdx.x < 20) out[threadIdx.x] = v;
}

// Barriers.
K barrier_of_a_hundred(int *out, const int *in) {
  __shared__ int s[128];
  if (threadIdx.x < 100) {
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();  //~ PTX411
    out[threadIdx.x] = s[threadIdx.x ^ 1];
  }
  out[threadIdx.x + 1024] = 1;
}

K barrier_behind_forty(int *out, const int *in) {
  __shared__ int s[64];
  if (threadIdx.x >= 40) {
    __syncthreads();  //~ PTX411
    out[threadIdx.x] = s[0];  //~[G] PTX212
  }
  out[threadIdx.x + 1024] = in[threadIdx.x];
}

K barrier_of_ten(int *out, const int *in) {
  __shared__ int s[10];
  if (threadIdx.x < 10) {
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();  //~ PTX411
    out[threadIdx.x] = s[9 - threadIdx.x];
  }
  out[threadIdx.x + 1024] = 1;
}

K collective_of_a_hundred(int *out, const int *in) {
  int v = in[threadIdx.x];
  if (threadIdx.x <= 99) v += __shfl_xor_sync(0xffffffffu, v, 1);  //~ PTX401
  out[threadIdx.x] = v;
}

// Arrays.
K row_of_a_hundred(int *out, const int *in) {
  __shared__ int s[100];
  s[threadIdx.x] = in[threadIdx.x];  //~ PTX211
  __syncthreads();
  if (threadIdx.x < 110) out[threadIdx.x] = s[0];
}
