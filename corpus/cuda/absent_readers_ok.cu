// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc
// why: values from lanes that do not take part are not looked at, and others are printed, handed on or kept

#include <cstdio>

extern __device__ void keep(float);

extern "C" __global__ void printed(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_xor_sync(0x0000ffff, from[threadIdx.x], 8);
        printf("%f\n", value);
    }
}

extern "C" __global__ void another_is_printed(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 8);
        if (threadIdx.x % 32 < 8) printf("%f\n", value);
        printf("%d\n", threadIdx.x);
    }
}

extern "C" __global__ void handed_on(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 8);
        if (threadIdx.x % 32 < 8) keep(value);
    }
}

extern "C" __global__ void kept_and_not_read(const float *from, float *to)
{
    if (threadIdx.x % 32 < 16) {
        volatile float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 8);
        to[threadIdx.x] = threadIdx.x % 32 < 8 ? value : 0;
    }
}

// The format prints the first argument alone.
extern "C" __global__ void not_printed(const int *from)
{
    if (threadIdx.x % 32 < 16) {
        int value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16);
        printf("thread %d\n", (int)threadIdx.x, value);
    }
}
