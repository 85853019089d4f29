// ptxcheck-args: -W PTX404
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc
// why: values that are read from lanes that do not take part are printed, handed to functions elsewhere, or kept in volatile variables

#include <cstdio>

extern __device__ void keep(float);
extern __device__ float changed(float);

extern "C" __global__ void printed(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        printf("%f\n", value);
    }
}

extern "C" __global__ void printed_as_an_integer(const int *from)
{
    if (threadIdx.x % 32 < 16) {
        int value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        printf("%d\n", value + 1);
    }
}

extern "C" __global__ void printed_behind_others(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        printf("block %u, thread %d: %f\n", blockIdx.x, (int)threadIdx.x, value);
    }
}

extern "C" __global__ void handed_on(const float *from)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        keep(value);
    }
}

extern "C" __global__ void handed_and_returned(const float *from, float *to)
{
    if (threadIdx.x % 32 < 16) {
        float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        to[threadIdx.x] = changed(value);
    }
}

extern "C" __global__ void kept_volatile(const float *from, float *to)
{
    if (threadIdx.x % 32 < 16) {
        volatile float value = __shfl_down_sync(0x0000ffff, from[threadIdx.x], 16); //~ PTX404
        to[threadIdx.x] = value;
    }
}

extern "C" __global__ void carried_round_a_loop(const float *from, float *to, int n)
{
    if (threadIdx.x % 32 < 16) {
        float sum = 0;
        for (int i = 0; i < n; ++i)
            sum += __shfl_down_sync(0x0000ffff, from[i * blockDim.x + threadIdx.x], 16); //~ PTX404
        to[threadIdx.x] = sum;
    }
}
