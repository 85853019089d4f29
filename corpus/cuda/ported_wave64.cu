// why: masks of 64 lanes, ported from a device with such waves: the upper half becomes 0 where it turns into 32 bits

using wave_mask = unsigned long long;

constexpr wave_mask lower_lanes = 0x00000000ffffffffull;
constexpr wave_mask upper_lanes = 0xffffffff00000000ull;

__device__ float shift_down(wave_mask lanes, float value, int distance) {
  return __shfl_down_sync(static_cast<unsigned>(lanes), value, distance);  //~ PTX407
}

__global__ void sum_halves(float *out) {
  float value = out[threadIdx.x];
  float low = value + shift_down(lower_lanes, value, 16);
  float high = value + shift_down(upper_lanes, value, 16);
  out[threadIdx.x] = low * high;
}
