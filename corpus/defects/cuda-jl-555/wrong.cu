// source: https://github.com/JuliaGPU/CUDA.jl/issues/555
// defect: two arrays of dynamic shared memory are taken for two, and are one
// class: A
// found: default

extern __shared__ int later[];
extern __shared__ float earlier[];

__global__ void differences(const float *in, float *out) {
  int t = threadIdx.x;
  later[t] = int(in[t]) + 1;  //~ PTX605
  earlier[t] = in[t];         //~ PTX605
  __syncthreads();
  out[t] = float(later[t]) - earlier[t];
}
