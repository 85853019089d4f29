// ptxcheck-args: -W conditional
// why: races between warps that a run of a block shows: loops over a whole tile, and places that depend on the round

// Nothing keeps the fastest warp from filling the tile again.
__global__ void fill_again(const float *in, float *out, int n)
{
    __shared__ float tile[128];
    float sum = 0;
    for (int first = 0; first < n; first += 128) {
        tile[threadIdx.x] = in[first + threadIdx.x];  //~ PTX416?
        __syncthreads();
        for (int i = 0; i < 128; ++i)
            sum += tile[i] * tile[i ^ 5];
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// The barrier after the fill is missing.
__global__ void read_early(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = in[threadIdx.x];
    float best = 0;
    for (int i = threadIdx.x ^ 32; i < 256 && i < n; i += 64)
        best = fmaxf(best, tile[i]);  //~ PTX416?
    __syncthreads();
    out[threadIdx.x] = best + tile[0];
}

// Each round reads what the last one has written, and one barrier is not enough.
__global__ void scan_in_place(const int *in, int *out, int rounds)
{
    __shared__ int sums[256];
    sums[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int by = 32; by < rounds * 64; by *= 2) {
        int own = sums[threadIdx.x];
        if (threadIdx.x >= by)
            own += sums[threadIdx.x - by];
        sums[threadIdx.x] = own;  //~[G,ir] PTX416?
        __syncthreads();
    }
    out[threadIdx.x] = sums[threadIdx.x];
}

// The first warp reads the results of the others.
__global__ void last_result(const float *in, float *out, int n)
{
    __shared__ float results[32];
    if (threadIdx.x < 32)
        results[threadIdx.x] = 0;
    __syncthreads();
    float own = in[threadIdx.x];
    for (int i = 0; i < n; ++i)
        own = own * own + 1;
    if ((threadIdx.x & 31) == 31 && threadIdx.x >= 32)
        results[threadIdx.x / 32] = own;
    float sum = own;
    if (threadIdx.x < 32)
        for (int warp = 1; warp < blockDim.x / 32; ++warp)
            sum += results[warp];  //~ PTX416?
    out[threadIdx.x] = sum;
}
