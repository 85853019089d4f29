// why: a helper that its callers give different masks is not the cause, and one that all give the same is

__device__ __forceinline__ float shift(unsigned mask, float value, int source) {
  return __shfl_sync(mask, value, source);
}

__device__ __forceinline__ float first_of_four(float value) {
  return __shfl_sync(0xfu, value, 0); //~ PTX403
}

__global__ void __launch_bounds__(256) half(float *p) {
  p[threadIdx.x] = shift(0xffffu, p[threadIdx.x], 3); //~ PTX403
}

__global__ void __launch_bounds__(256) quarter(float *p) {
  p[threadIdx.x] = shift(0xffu, p[threadIdx.x], 2); //~ PTX403
}

__global__ void __launch_bounds__(256) whole(float *p) {
  p[threadIdx.x] = shift(0xffffffffu, p[threadIdx.x], 2);
}

__global__ void __launch_bounds__(256) four(float *p) {
  p[threadIdx.x] = first_of_four(p[threadIdx.x]);
}

__global__ void __launch_bounds__(256) doubled(float *p) {
  p[threadIdx.x] = first_of_four(p[threadIdx.x] * 2);
}
