// why: lanes go different numbers of rounds, and those that leave first only end, meet the others later, or are not waited for.

__global__ void those_that_leave_end(int *out, const int *in) {
    __shared__ int tile[1024];
    int thread = threadIdx.x;
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        tile[thread] = in[i * 64 + thread];
        __syncthreads();
    }
}

__global__ void whole_warps(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread < 32 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        value += __shfl_xor_sync(0xffffffff, value, 1);
        out[i] = value;
    }
    out[thread] = value;
}

__global__ void rows_of_ninety_six(int *out, const int *in) {
    int lane = threadIdx.x % 32, sum = 0;
    for (int i = lane; i < 96; i += 32) {
        sum += in[i];
        __syncwarp();
    }
    out[threadIdx.x] = sum;
}

__global__ void mask_of_each_round(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        value += __shfl_xor_sync(i < 3 ? 0xffffffff : 0xffff, value, 1);
        out[i] = value;
    }
    out[thread] = value;
}

__global__ void the_rest_later(int *out, const int *in) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i)
        value += __shfl_xor_sync(0xffffffff, value, 1);
    if (thread % 32 >= 16)
        for (int i = 0; i < 2; ++i)
            value += __shfl_xor_sync(0xffffffff, value, 1);
    out[thread] = value;
}

__global__ void barriers_later(int *out, const int *in) {
    __shared__ int tile[1024];
    int thread = threadIdx.x, sum = 0;
    int rounds = thread % 32 < 16 ? 5 : 3;
    for (int i = 0; i < rounds; ++i) {
        tile[thread] = in[i * 64 + thread];
        __syncthreads();
        sum += tile[thread ^ 1];
    }
    if (thread % 32 >= 16) {
        __syncthreads();
        ++sum;
        __syncthreads();
    }
    out[thread] = sum;
}

__global__ void one_warp_may_come(int *out, const int *in, int which) {
    int thread = threadIdx.x, value = in[thread];
    int rounds = thread < 16 ? 5 : 3;
    if (thread / 32 == which)
        for (int i = 0; i < rounds; ++i) {
            value += __shfl_xor_sync(0xffffffff, value, 1);
            out[i] = value;
        }
    out[thread] = value;
}
