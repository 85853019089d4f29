// why: with blocks of 64 threads, those of the second warp have a slot of their own, or stay away.
// ptxcheck-args: --launch-block 64

__global__ void large_enough(int *out, const int *in) {
    __shared__ int table[64];
    int thread = threadIdx.x;
    table[thread] = in[thread];
    __syncthreads();
    if (thread < 32)
        out[thread] = table[thread + 32];
}

__global__ void first_warp(int *out, const int *in) {
    __shared__ int table[32];
    int thread = threadIdx.x;
    if (thread < 32)
        table[thread] = in[thread];
    __syncthreads();
    out[thread] = table[thread % 32];
}

__global__ void second_warp_shifted(int *out, const int *in) {
    __shared__ int table[32];
    int thread = threadIdx.x;
    if (thread >= 32)
        table[thread - 32] = in[thread];
    __syncthreads();
    out[thread] = table[thread & 31];
}

__global__ void those_that_have_ended(int *out, const int *in) {
    __shared__ int table[32];
    int thread = threadIdx.x;
    if (thread >= 32)
        return;
    table[thread] = in[thread];
    __syncwarp();
    out[thread] = table[31 - thread];
}
