// An address of a local object that is stored as no address: as the seed of a random number, as a hash, or in half.
// why: what is stored leads nowhere

typedef unsigned long long word;

__device__ word seeds[1024];
__device__ unsigned halves[1024];
__device__ word keys[2];

__device__ __noinline__ word mixed(word seed)
{
    seed ^= seed >> 33;
    seed *= 0xff51afd7ed558ccdull;
    return seed ^ seed >> 29;
}

extern "C" __global__ void seed_by_constant(int *out)
{
    int value = out[threadIdx.x];
    seeds[threadIdx.x] = (word)&value ^ 0x5851f42d4c957f2dull;
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void seed_by_thread(int *out)
{
    int value = out[threadIdx.x];
    seeds[threadIdx.x] = (word)&value ^ (threadIdx.x + 1) * 0x9e3779b9ull;
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void seed_by_key(int *out)
{
    int value = out[threadIdx.x];
    seeds[threadIdx.x] = (word)&value ^ keys[0];
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void hashed(int *out)
{
    int value = out[threadIdx.x];
    seeds[threadIdx.x] = mixed((word)&value);
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void complement(int *out)
{
    int value = out[threadIdx.x];
    seeds[threadIdx.x] = ~(word)&value;
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void lower_half(int *out)
{
    int value = out[threadIdx.x];
    halves[threadIdx.x] = (unsigned)(word)&value;
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void lower_half_hashed(int *out)
{
    int value = out[threadIdx.x];
    halves[threadIdx.x] = (unsigned)(word)&value * 2654435761u;
    out[threadIdx.x + 32] = value;
}

extern "C" __global__ void in_shared_memory(int *out)
{
    __shared__ unsigned first;
    int value = out[threadIdx.x];
    if (threadIdx.x == 0)
        first = (unsigned)((word)&value >> 4);
    __syncthreads();
    out[threadIdx.x + 32] = value + (int)(first & 1);
}
