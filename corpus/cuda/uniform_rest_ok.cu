// ptxcheck-args: -W potential -A PTX412
// why: all threads of a block, or of a warp, go one way: by what a barrier counts, by bounds that are rounded to the block, by
// memory that the kernel does not write

extern "C" __global__ void until_nothing_changes(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int changed;
    do {
        changed = i < n && data[i] > 0;
        if (changed) data[i] = __shfl_xor_sync(__activemask(), data[i], 0) - 1;
    } while (__syncthreads_or(changed));
    __syncthreads();
}

extern "C" __global__ void while_some_are_left(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (__syncthreads_count(i < n && data[i] > 0) > 3) {
        data[i] = __shfl_down_sync(0xffffffff, data[i], 4);
        __syncthreads();
    }
}

extern "C" __global__ void until_all_are_done(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < n; round++) {
        bool done = data[i] <= round;
        if (__syncthreads_and(done)) break;
        __syncthreads();
        data[i] = __shfl_xor_sync(0xffffffff, data[i], 1);
    }
}

extern "C" __global__ void rounded_to_the_block(const float *from, float *sum, int n)
{
    int bound = (n + blockDim.x - 1) / blockDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < bound; i += gridDim.x * blockDim.x) {
        float value = i < n ? from[i] : 0;
        for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffff, value, by);
        if (threadIdx.x % 32 == 0) atomicAdd(sum, value);
    }
}

// Some lanes load the bound anew, and nobody writes it.
extern "C" __global__ void bound_in_memory(const unsigned *count, unsigned *found, unsigned *list)
{
    __shared__ unsigned bits[2][1024];
    for (unsigned base = 0, side = 0; base < *count; base += blockDim.x, side ^= 1) {
        unsigned at = base + threadIdx.x;
        if (at < *count) bits[side][threadIdx.x] = __popc(list[at]);
        __syncthreads();
        if (at < *count && bits[side][threadIdx.x] > 3) list[atomicAdd(found, 1u)] = at;
    }
    __syncthreads();
}
