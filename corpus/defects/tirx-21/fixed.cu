// fix: `barrier.sync`, which promises nothing of the kind

__shared__ float tile[64];

__global__ void __launch_bounds__(64) roles(const float *in, float *out) {
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("barrier.sync 5, 64;" ::: "memory");
    out[threadIdx.x] = tile[threadIdx.x + 32];
  } else {
    tile[threadIdx.x] = in[threadIdx.x] * 2;
    asm volatile("barrier.sync 5, 64;" ::: "memory");
  }
}
