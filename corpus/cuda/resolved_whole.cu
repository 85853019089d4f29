// why: externs that the module itself defines, and declarations that nobody uses
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc
// ptxcheck-args: --whole-program

extern __device__ int counter;
extern __device__ int step(int value);
extern __device__ int never_used;
extern __device__ int never_called(int value);

__global__ void advance(int *out) {
  out[threadIdx.x] = step(out[threadIdx.x]) + counter;
}

__device__ int counter = 3;
__device__ __noinline__ int step(int value) { return value * 3 + 1; }
