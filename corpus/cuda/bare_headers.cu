// why: a debug build without the CUDA headers: the DWARF of clang in a size that can be read
// compilers: clang
// clang-flags: -nocudainc -nocudalib

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

struct Sample {
  int channel;
  float value;
};

__device__ float squared(const Sample &sample) { return sample.value * sample.value; }

__global__ void energy(float *out, const Sample *samples) {
  int i = __nvvm_read_ptx_sreg_tid_x();
  float sum = squared(samples[i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __nvvm_shfl_sync_bfly_f32(-1, sum, lane, 31);
  if (i == 0) *out = sum;
  __nvvm_bar_warp_sync(0);  //~ PTX407
}
