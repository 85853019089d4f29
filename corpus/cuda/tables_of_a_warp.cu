// why: with blocks of 64 threads, those of the second warp are outside of a table for one.
// ptxcheck-args: --launch-block 64

__global__ void whole_table(int *out, const int *in) {
    __shared__ int table[32];
    table[threadIdx.x] = in[threadIdx.x]; //~ PTX211
    __syncthreads();
    out[threadIdx.x] = table[threadIdx.x ^ 1]; //~ PTX211
}

__global__ void filled_by_the_first_warp(int *out, const int *in) {
    __shared__ int table[32];
    int thread = threadIdx.x;
    if (thread < 32)
        table[thread] = in[thread];
    __syncthreads();
    out[thread] = table[thread]; //~ PTX211
}

__global__ void half_of_the_second_warp(int *out, const int *in) {
    __shared__ int table[48];
    int thread = threadIdx.x;
    table[thread] = in[thread]; //~ PTX211
    __syncthreads();
    out[thread] = table[thread & 31];
}
