// why: a tail that too few lanes come to, in loops that all threads of a block go round together; what the end of the loop has in common for all lanes says that none has ended.

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
        if (thread < 16) {
            int sum = sums[thread];
            for (int offset = 8; offset > 0; offset >>= 1)
                sum += __shfl_down_sync(0xffffffff, sum, offset); //~[!ir-G] PTX401
            if (thread == 0)
                out[tile] = sum;
        }
        __syncthreads();
    }
}

__global__ void any_block(int *out, const int *in, int tiles) {
    __shared__ int sums[1024];
    int thread = threadIdx.x;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        sums[thread] = in[tile * blockDim.x + thread];
        __syncthreads();
        for (int half = blockDim.x / 2; half > 32; half >>= 1) {
            if (thread < half)
                sums[thread] += sums[thread + half];
            __syncthreads();
        }
        if (thread < 16) {
            int sum = sums[thread] + sums[thread + 16];
            for (int offset = 8; offset > 0; offset >>= 1)
                sum += __shfl_xor_sync(0xffffffff, sum, offset); //~[!ir-G] PTX401
            sums[thread] = sum;
        }
        __syncthreads();
        if (thread == 0)
            out[tile] = sums[0];
        __syncthreads();
    }
}

__global__ void neighbours(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        sums[thread] = in[tile * 256 + thread];
        __syncthreads();
        if (thread < 16) {
            sums[thread] += sums[thread + 16];
            __syncwarp(); //~ PTX401
            sums[thread] += 1;
        }
        __syncthreads();
        out[tile * 256 + thread] = sums[thread ^ 1];
        __syncthreads();
    }
}

__global__ void barrier_of_some(int *out, const int *in, int tiles) {
    __shared__ int values[256];
    int thread = threadIdx.x;
    for (int tile = 0; tile < tiles; ++tile) {
        values[thread] = in[tile * 256 + thread];
        if (thread < 16)
            __syncthreads(); //~ PTX411
        out[tile * 256 + thread] = values[thread ^ 1]; //~ PTX415
    }
}

__device__ __noinline__ int sum_of_block(int *sums, int value) {
    int thread = threadIdx.x;
    sums[thread] = value;
    __syncthreads();
    for (int half = 128; half > 16; half >>= 1) {
        if (thread < half)
            sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread < 16) {
        value = sums[thread];
        for (int offset = 8; offset > 0; offset >>= 1)
            value += __shfl_down_sync(0xffffffff, value, offset); //~[!ir-G] PTX401
        sums[thread] = value;
    }
    __syncthreads();
    return sums[0];
}

__global__ void in_a_helper(int *out, const int *in, int tiles) {
    __shared__ int sums[256];
    for (int tile = 0; tile < tiles; ++tile) {
        out[tile * 256 + threadIdx.x] = sum_of_block(sums, in[tile * 256 + threadIdx.x]);
        __syncthreads();
    }
}

__global__ void row_of_each_warp(int *out, const int *in, int rows) {
    int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int row = warp; row < rows; row += gridDim.x * blockDim.x / 32) {
        int sum = in[row * 32 + lane];
        if (lane < 16)
            sum += __shfl_down_sync(0xffffffff, sum, 8); //~ PTX401
        out[row * 32 + lane] = sum;
    }
}
