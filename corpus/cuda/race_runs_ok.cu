// ptxcheck-args: -W conditional
// why: right code beside race_runs.cu, and what makes it right

__global__ void fill_again(const float *in, float *out, int n)
{
    __shared__ float tile[128];
    float sum = 0;
    for (int first = 0; first < n; first += 128) {
        tile[threadIdx.x] = in[first + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 128; ++i)
            sum += tile[i] * tile[i ^ 5];
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Two tiles in turn need one barrier a round.
__global__ void two_tiles(const float *in, float *out, int n)
{
    __shared__ float tiles[2][128];
    float sum = 0;
    for (int first = 0, turn = 0; first < n; first += 128, turn ^= 1) {
        tiles[turn][threadIdx.x] = in[first + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 128; ++i)
            sum += tiles[turn][i] * tiles[turn][i ^ 5];
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// The last lane of a warp drops what it reads of the next one.
__global__ void dropped(const int *in, int *out, int rounds)
{
    __shared__ int words[257];
    for (int round = 0; round < rounds; ++round) {
        words[threadIdx.x] = in[round * 256 + threadIdx.x];
        __syncwarp();
        int next = words[threadIdx.x + 1];
        __syncwarp();
        out[round * 256 + threadIdx.x] = (threadIdx.x & 31) < 31 ? next : 0;
    }
}

// Each warp keeps to its own part.
__global__ void own_parts(const float *in, float *out, int n)
{
    __shared__ float parts[256];
    float *part = parts + (threadIdx.x & ~31);
    int lane = threadIdx.x & 31;
    float sum = 0;
    for (int first = 0; first < n; first += 32) {
        part[lane] = in[first + lane];
        __syncwarp();
        for (int i = 0; i < 32; ++i)
            sum += part[i];
        __syncwarp();
    }
    out[threadIdx.x] = sum;
}

// Columns of a tile belong to threads.
__global__ void columns(const float *in, float *out, int width)
{
    __shared__ float tile[8][128];
    for (int row = 0; row < 8; ++row)
        tile[row][threadIdx.x] = in[row * width + threadIdx.x];
    float sum = 0;
    for (int row = 0; row < 8; ++row)
        sum += tile[(row * 5 + 3) % 8][threadIdx.x];
    out[threadIdx.x] = sum;
}

// A barrier of two warps by its number and count.
__global__ void pairs_of_warps(const int *in, int *out, int n)
{
    __shared__ int words[256];
    int pair = threadIdx.x / 64;
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        words[threadIdx.x] = in[i * 256 + threadIdx.x];
        asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1) : "memory");
        for (int k = 0; k < 64; ++k)
            sum += words[pair * 64 + k];
        asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1) : "memory");
    }
    out[threadIdx.x] = sum;
}

// All that is written is one value.
__global__ void any_negative(const int *in, int *out, int n)
{
    __shared__ int found;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 128)
        if (in[i] < 0)
            found = 1;
    __syncthreads();
    out[threadIdx.x] = found;
}
