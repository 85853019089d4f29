// What depends on the target: a parameter's type, the launch bounds, and whether a template is instantiated at all.
#if __CUDA_ARCH__ >= 900
using Real = double;
#define THREADS 512
#else
using Real = float;
#define THREADS 256
#endif

extern "C" __global__ void signature(Real factor, Real *data) { *data *= factor; }

extern "C" __global__ void __launch_bounds__(THREADS) bounded(int *data) { *data = 1; }

template <class T> __global__ void only(T *data) { *data = 1; }
template __global__ void only<float>(float *);
#if __CUDA_ARCH__ >= 900
template __global__ void only<double>(double *);
#endif

extern "C" __global__ void mask(int *data) {
  if (data[0]) __syncwarp(0);
  data[1] = 2;
}
