// why: names of the C++ host runtime, declared by hand for the device, are in no device library
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc

extern "C" __device__ int __cxa_guard_acquire(long long *guard);
extern "C" __device__ void __cxa_guard_release(long long *guard);

__device__ long long guard;
__device__ int instance;

__global__ void once(int *out) {
  if (__cxa_guard_acquire(&guard)) {  //~ PTX108
    instance = 42;
    __cxa_guard_release(&guard);  //~ PTX108
  }
  out[threadIdx.x] = instance;
}
