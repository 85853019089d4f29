// ptxcheck-args: -W potential -A PTX412
// why: threads part at what looks like one value for all

extern "C" __global__ void counted_in_an_arm(int *data)
{
    int i = threadIdx.x;
    if (data[i] > 3) {
        while (__syncthreads_or(data[i] > 5)) data[i]--; //~ PTX411?
    }
    data[i] = __shfl_xor_sync(0xffffffff, data[i], 1);
}

extern "C" __global__ void counted_and_asked(int *data, int n)
{
    int i = threadIdx.x;
    for (int round = 0; round < n; round++) {
        int any = __syncthreads_or(data[i] > round);
        if (any && data[i] < round) break;
        data[i] = __shfl_xor_sync(0xffffffff, data[i], 1); //~ PTX404?
    }
}

extern "C" __global__ void rounded_to_any(const float *from, float *sum, unsigned n, unsigned by)
{
    unsigned bound = (n + by - 1) / by * by;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < bound; i += gridDim.x * blockDim.x) {
        float value = i < n ? from[i] : 0;
        for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffff, value, by); //~[O3] PTX404?
        if (threadIdx.x % 32 == 0) atomicAdd(sum, value);
    }
}

// Some lanes load the bound anew, and others may have written it.
extern "C" __global__ void bound_in_written_memory(unsigned *count, unsigned *list)
{
    __shared__ unsigned bits[2][1024];
    for (unsigned base = 0, side = 0; base < *count; base += blockDim.x, side ^= 1) {
        unsigned at = base + threadIdx.x;
        if (at < *count) bits[side][threadIdx.x] = __popc(list[at]);
        __syncthreads(); //~[O3] PTX411?
        if (at < *count && bits[side][threadIdx.x] > 3) list[atomicAdd(count + base % 2, 1u)] = at;
    }
    __syncthreads();
}
