// ptxcheck-args: -W conditional
// why: threads share words of bits, and each one tests bits that no other thread changes, or that all atomics leave alone

typedef unsigned long long Word;

// The bit of the thread.
__global__ void own_bit(Word *to, const Word *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Word bit = 1ull << (i % 64);
    if (!(to[i / 64] & bit) && (from[i / 64] & bit))
        atomicOr(&to[i / 64], bit);
}

// The same by a shift, set or cleared.
__global__ void own_bit_by_shift(Word *to, const Word *with, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if ((to[i / 64] >> (i % 64) & 1) != (with[i / 64] >> (i % 64) & 1))
        atomicXor(&to[i / 64], 1ull << (i % 64));
}

__global__ void cleared(Word *to, const Word *with, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Word bit = 1ull << (i % 64);
    if ((to[i / 64] & bit) && !(with[i / 64] & bit))
        atomicAnd(&to[i / 64], ~bit);
}

// A flag in the highest bit, which only another kernel sets.
__global__ void flagged(Word *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (!(to[i / 64] >> 63))
        atomicOr(&to[i / 64], 1ull << (i % 63));
}
