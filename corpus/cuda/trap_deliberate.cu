// why: a kernel that only traps because its source says so; nvcc puts a ret after it, clang leaves the trap alone

__global__ void not_for_this_device(int *out) { __trap(); }

__global__ void needs_newer_target(int *out) {
#if __CUDA_ARCH__ >= 10000
  *out = 1;
#else
  __trap();
#endif
}

__global__ void check_then_trap(int *out, int n) {
  if (n <= 0) __trap();
  out[threadIdx.x % n] = n;
}
