// why: lanes that know by their numbers how many rounds of a loop they go: in a later round, those that have left are missing.

__global__ void barrier_in_each_round(int *out, const int *in) {
    __shared__ int tile[1024];
    int thread = threadIdx.x, sum = 0;
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        tile[thread] = in[i * 64 + thread];
        __syncthreads(); //~ PTX411
        sum += tile[thread ^ 1];
    }
    out[thread] = sum;
}

__global__ void shuffle_in_each_round(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        value += __shfl_xor_sync(0xffffffff, value, 1); //~ PTX401
        out[i] = value;
    }
    out[thread] = value;
}

__global__ void lanes_that_leave(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    for (int i = 0; i < 5; ++i) {
        if (thread % 32 < 16 && i == 2)
            break;
        value += __shfl_xor_sync(0xffffffff, value, 1); //~ PTX401
    }
    out[thread] = value;
}

__global__ void lanes_that_leave_a_barrier(int *out, const int *in) {
    __shared__ int tile[1024];
    int thread = threadIdx.x, sum = 0;
    for (int i = 0; i < 5; ++i) {
        if (thread % 32 < 16 && i == 2)
            break;
        tile[thread] = in[i * 64 + thread];
        __syncthreads(); //~ PTX411
        sum += tile[thread];
    }
    out[thread] = sum;
}

__global__ void rows_of_a_hundred(int *out, const int *in) {
    int lane = threadIdx.x % 32, sum = 0;
    for (int i = lane; i < 100; i += 32) {
        sum += in[i];
        __syncwarp(); //~ PTX401
    }
    out[threadIdx.x] = sum;
}

__global__ void ballot_in_rows_of_forty(unsigned *out, const int *in) {
    unsigned lane = threadIdx.x % 32, sum = 0;
    for (unsigned i = lane; i < 40; i += 8)
        sum += __ballot_sync(0xffffffff, in[i] > 3); //~ PTX401
    out[threadIdx.x] = sum;
}

__device__ __noinline__ int with_neighbour(int value) {
    return value + __shfl_xor_sync(0xffffffff, value, 1); //~ PTX401
}

__global__ void in_a_helper(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        value += with_neighbour(value);
        out[i] = value;
    }
    out[thread] = value;
}
