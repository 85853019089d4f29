// why: more reads that compilers make in lanes that do not use the value: behind branches, selects, arithmetic, predicates, and calls of
// one lane alone

#define K extern "C" __global__ void

K prefix_of_leader(int *out, const int *in) {
  __shared__ int carry;
  int t = threadIdx.x, lane = t & 31;
  if (lane == 0) carry = in[t];
  int base = 0;
  if (lane == 0) base = (carry << 3) ^ in[t + 1];
  out[t] = base + lane;
}

K masked_by_leader(int *out, const int *in) {
  __shared__ unsigned bits;
  int t = threadIdx.x;
  if (t == 0) bits = in[0];
  unsigned own = 0;
  if (t == 0) own = bits & 0xff0f;
  out[t] = own | t;
}

K scaled_by_two_lanes(float *out, const float *in) {
  __shared__ float s[2];
  int lane = threadIdx.x & 31;
  if (lane < 2) s[lane] = in[lane];
  float x = 1.f;
  if (lane < 2) x = s[lane] * 0.5f + 2.f;
  out[threadIdx.x] = x;
}

K two_leaders(int *out, const int *in) {
  __shared__ int s[2];
  int lane = threadIdx.x & 31;
  if (lane == 0) s[0] = in[0];
  if (lane == 16) s[1] = in[1];
  int x = 0;
  if (lane == 0) x = s[0] * 5;
  if (lane == 16) x = s[1] * 7;
  out[threadIdx.x] = x;
}

K nested(int *out, const int *in, int n) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = in[0];
  int x = 2;
  if (t == 0) {
    if (n > 3) x = s + 1;
    else x = s - 1;
  }
  out[t] = x;
}

K in_arms(int *out, const int *in) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  int x;
  if (lane == 4) x = s[4] * 3;
  else x = in[lane + 32];
  out[lane] = x;
}

K stored_by_leader(int *out, const int *in) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = in[0];
  if (t == 0) out[0] = s * s;
  out[t + 1] = t;
}

K counted_down_by_leader(int *out, const int *in) {
  __shared__ int left;
  int t = threadIdx.x;
  if (t == 0) left = in[0] & 7;
  int rounds = 0;
  if (t == 0)
    for (int i = left; i > 0; i--) rounds += i;
  out[t] = rounds;
}

K clamped_by_last(float *out, const float *in) {
  __shared__ float limit;
  int lane = threadIdx.x & 31;
  if (lane == 31) limit = in[31];
  float x = in[lane];
  if (lane == 31) x = fminf(x, limit);
  out[threadIdx.x] = x;
}

K handed_to_all(int *out, const int *in) {
  __shared__ int s;
  int lane = threadIdx.x & 31;
  if (lane == 5) s = in[5];
  int x = 0;
  if (lane == 5) x = s + 10;
  out[threadIdx.x] = __shfl_sync(~0u, x, 5);
}

K handed_in_steps(int *out, const int *in) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  int x = 0;
  if (lane == 0) x = s[0] * 2;
  x = __shfl_sync(~0u, x, 0);
  x += __shfl_xor_sync(~0u, x, 1);
  out[lane] = x;
}

K sum_of_own(float *out, const float *in) {
  __shared__ float s[64];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  s[lane + 32] = in[lane + 32];
  out[lane] = s[lane] + s[lane + 32];
}

K own_column(int *out, const int *in) {
  __shared__ int s[4][32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
#pragma unroll
  for (int i = 0; i < 4; i++) s[i][lane] = in[i * 32 + lane];
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) sum += s[3 - i][lane];
  out[lane] = sum;
}

K picked_by_number(int *out, const int *in) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  int x = lane == 7 ? s[7] + 1 : lane == 9 ? s[9] - 1 : 0;
  out[lane] = x;
}

K under_a_flag(int *out, const int *in, int flag) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  int x = 3;
  if (flag && lane == 11) x = s[11] * 9;
  out[lane] = x;
}

K of_the_device(int *out, const int *in, int *memory) {
  int lane = threadIdx.x;
  if (lane >= 32) return;
  memory[lane] = in[lane];
  int x = 1;
  if (lane == 3) x = memory[3] * 3;
  out[lane] = x;
}

K halves(int *out, const int *in) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane < 16) s[lane] = in[lane];
  int x = 0;
  if (lane < 16) x = s[lane] * s[lane] + 1;
  out[lane] = x;
}

K last_of_group(int *out, const int *in) {
  __shared__ int s[4];
  int lane = threadIdx.x;
  if (lane >= 32) return;
  if ((lane & 7) == 7) s[lane >> 3] = in[lane];
  int x = 0;
  if ((lane & 7) == 7) x = s[lane >> 3] + lane;
  out[lane] = __shfl_sync(~0u, x, 7, 8);
}
