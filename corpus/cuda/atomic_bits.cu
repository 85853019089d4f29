// ptxcheck-args: -W conditional
// why: threads share words of bits, and test bits that another thread changes

typedef unsigned long long Word;

// The bit of the next thread.
__global__ void next_bit(Word *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (!(to[i / 64] >> ((i + 1) % 64) & 1))  //~[O3] PTX418?
        atomicOr(&to[i / 64], 1ull << (i % 64));
}

// The flag of all is set by the last thread of each word.
__global__ void flag_of_word(Word *to, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 64 == 63)
        atomicOr(&to[i / 64], 1ull << 63);
    out[i] = to[i / 64] >> 63 & 1;  //~[O3] PTX418?
}

// A sum carries into the bits of others.
__global__ void sum(Word *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Word bit = 1ull << (i % 64);
    if (!(to[i / 64] & bit))  //~[O3] PTX418?
        atomicAdd(&to[i / 64], bit);
}
