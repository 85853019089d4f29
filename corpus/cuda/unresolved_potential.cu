// why: in separate compilation another object may define these; a lone module can only say that it needs them
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc
// ptxcheck-args: -W potential

extern __device__ int shared_table[16];
extern __device__ int transform(int value);
extern __device__ int never_used;
extern __device__ int never_called(int value);

__global__ void use(int *out) {
  int value = shared_table[threadIdx.x & 15];  //~ PTX105?
  out[threadIdx.x] = transform(value);  //~ PTX105?
}
