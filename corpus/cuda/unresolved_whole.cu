// why: told that this module is the whole program, nothing is left that could define what it uses
// nvcc-flags: -rdc=true
// clang-flags: -fgpu-rdc
// ptxcheck-args: --whole-program

extern __device__ float gain;
extern __device__ float curve(float value);

__global__ void apply(float *out) {
  float value = out[threadIdx.x] * gain;  //~ PTX105
  out[threadIdx.x] = curve(value);  //~ PTX105
}
