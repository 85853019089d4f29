// why: the handle that C++ passes to its exit functions belongs to the host; a device reference to it stays open
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc

extern "C" __device__ int __dso_handle;

__global__ void handle(void **out) {
  out[threadIdx.x] = &__dso_handle;  //~ PTX108
}
