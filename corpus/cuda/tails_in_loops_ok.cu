// why: right tails in loops that all threads go round together, and lanes that have ended, come later, or are not waited for.

__global__ void tiles(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        sums[thread] = in[tile * 256 + thread];
        __syncthreads();
        for (int half = 128; half > 16; half >>= 1) {
            if (thread < half)
                sums[thread] += sums[thread + half];
            __syncthreads();
        }
        if (thread < 32) {
            int sum = thread < 16 ? sums[thread] : 0;
            for (int offset = 8; offset > 0; offset >>= 1)
                sum += __shfl_down_sync(0xffffffff, sum, offset);
            if (thread == 0)
                out[tile] = sum;
        }
        __syncthreads();
    }
}

__global__ void half_a_warp(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        sums[thread] = in[tile * 256 + thread];
        __syncthreads();
        if (thread < 16) {
            sums[thread] += sums[thread + 16];
            __syncwarp(0xffff);
            sums[thread] += 1;
        }
        __syncthreads();
        out[tile * 256 + thread] = sums[thread ^ 1];
        __syncthreads();
    }
}

// The others come to a call that matches, in the same round.
__global__ void both_arms(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        sums[thread] = in[tile * 256 + thread];
        __syncthreads();
        if (thread % 32 < 16) {
            sums[thread] += 1;
            __syncwarp();
            sums[thread] += 2;
        } else {
            sums[thread] += 3;
            __syncwarp();
            sums[thread] += 4;
        }
        __syncthreads();
        out[tile * 256 + thread] = sums[thread ^ 1];
        __syncthreads();
    }
}

// In the last round, some lanes end before the call.
__global__ void those_that_end(int *out, const int *in, int tiles) {
    int thread = threadIdx.x, sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        sum += in[tile * blockDim.x + thread];
        if (tile == tiles - 1 && thread % 32 >= 16)
            return;
        sum += __shfl_down_sync(0xffffffff, sum, 8);
    }
    out[thread] = sum;
}

// The others come to theirs later in the round.
__global__ void later_in_the_round(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        sums[thread] = in[tile * 256 + thread];
        __syncthreads();
        if (thread % 32 < 16)
            __syncwarp();
        sums[thread] += tile;
        if (thread % 32 >= 16)
            __syncwarp();
        __syncthreads();
        out[tile * 256 + thread] = sums[thread ^ 1];
        __syncthreads();
    }
}

__global__ void barrier_in_both_arms(int *out, const int *in, int tiles) {
    __shared__ int values[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        values[thread] = in[tile * 256 + thread];
        if (thread < 128)
            __syncthreads();
        else
            __syncthreads();
        out[tile * 256 + thread] = values[thread ^ 1];
        __syncthreads();
    }
}

__global__ void row_of_each_warp(int *out, const int *in, int rows) {
    int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int row = warp; row < rows; row += gridDim.x * blockDim.x / 32) {
        int sum = in[row * 32 + lane];
        sum += __shfl_down_sync(0xffffffff, sum, 8);
        if (lane < 16)
            sum += __shfl_xor_sync(0xffff, sum, 4);
        out[row * 32 + lane] = sum;
    }
}
