// why: the address of a host function is 0 in device code; stored and never called there, 0 is no defect in itself
// compilers: nvcc
// targets: sm_90 sm_120

int on_host(int);

__host__ __device__ void *address() { return (void *)&on_host; }

__global__ void keep(void **out) { out[threadIdx.x] = address(); }
