// why: without -rdc, nvcc makes a definition of an extern device variable (warning 20044): the module leaves nothing open
// compilers: nvcc
// targets: sm_90 sm_120
// ptxcheck-args: --whole-program

extern __device__ int limit[4];

__global__ void k(int *out, int i) { out[0] = limit[i]; }
