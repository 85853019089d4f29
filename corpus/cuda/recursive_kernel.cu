// why: a kernel can be called through a pointer to it; optimised, that is a direct call, which ptxas refuses and nvcc -ptx checks from sm_90 on
// compilers: nvcc
// targets: sm_75

__global__ void factorial(int *out, int n) { void (*again)(int *, int) = factorial; if (n > 1) { again(out, n - 1); out[threadIdx.x] *= n; } }  //~[O3] PTX601
