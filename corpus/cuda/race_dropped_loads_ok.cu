// why: loads that compilers do before the test that guards them: the value of a thread that fails it is dropped

// right: lane 31 takes nothing from the slice of the next warp, though its load may be done.
__global__ void __launch_bounds__(256) below_lane_31(int *out, const int *in) {
  __shared__ int s[257];
  int t = threadIdx.x, lane = t & 31, v = in[t];
  s[t] = v;
  __syncwarp();
  if (lane < 31) v += s[t + 1];
  out[t] = v;
}

// right: the same with ?:, and a factor for those that have a neighbour.
__global__ void __launch_bounds__(256) by_a_select(float *out, const float *in) {
  __shared__ float s[256];
  int t = threadIdx.x, lane = t & 31;
  s[t] = in[t];
  __syncwarp();
  float left = lane > 0 ? s[t - 1] : 0.0f;
  out[t] = s[t] - 0.5f * left;
}

// right: the value of the other warp goes through arithmetic first and is then dropped.
__global__ void __launch_bounds__(64) dropped_after_arithmetic(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncwarp();
  int other = (s[t ^ 1] * 3 + 7) >> 1;
  int far = (s[t & 31] ^ 0x55) + 3;
  out[t] = t < 32 ? far : other;
}

// right: two ways, and each warp goes the way that reads what it wrote itself.
__global__ void __launch_bounds__(64) way_of_the_warp(float *out, const float *in) {
  __shared__ float a[32], b[32];
  int t = threadIdx.x, lane = t & 31;
  if (t < 32) a[lane] = in[t];
  else b[lane] = in[t];
  __syncwarp();
  float v;
  if (t < 32) v = a[31 - lane];
  else v = b[31 - lane];
  out[t] = v;
}

// right: nothing is done with what the first threads read.
__global__ void __launch_bounds__(128) read_for_nothing(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  int other = s[127 - t];
  other = 5;
  __syncthreads();
  out[t] = s[127 - t] * other;
}

// right: threads from 96 on replace what they have read before they use it.
__global__ void __launch_bounds__(128) replaced(int *out, const int *in) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncwarp();
  int at = t < 96 ? t ^ 3 : 0, v = s[at];
  if (t >= 96) v = in[t] - 1;
  out[t] = v;
}

// right: the border is handled by a clamped index that stays in the warp's slice.
__global__ void __launch_bounds__(128) clamped(float *out, const float *in) {
  __shared__ float s[128];
  int t = threadIdx.x, lane = t & 31;
  s[t] = in[t];
  __syncwarp();
  int l = lane == 0 ? t : t - 1, r = min(lane + 1, 31) + (t & ~31);
  out[t] = s[l] + s[r];
}
