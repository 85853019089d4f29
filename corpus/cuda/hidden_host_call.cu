// why: a pragma silences the warning about a host call in __host__ __device__ code, and the call goes to address 0
// compilers: nvcc
// targets: sm_90 sm_120

struct Doubled {
  int operator()(int x) const { return x * 2; }
};

#pragma nv_exec_check_disable
template <class F>
__host__ __device__ int apply(F f, int x) {
  return f(x);  //~[G] PTX106
}

__global__ void doubled(int *out, int i) {  //~~[O3] PTX107
  out[0] = apply(Doubled{}, i);
  out[1] = 5;
}
