// why: compilers load what one lane reads in all lanes, and drop the value again: by a select, by a branch behind arithmetic, by a shuffle
// that hands on another lane's value. Which lane has used it decides, and not which lane has loaded it

#define K extern "C" __global__ void

// Sums that the first lane keeps, and reads back under its condition.
K mean_of_leader(float *out, const float *in, float scale) {
  __shared__ float total;
  float x = in[threadIdx.x];
  for (int by = 16; by; by >>= 1) x += __shfl_down_sync(~0u, x, by);
  if (threadIdx.x == 0) total = x;
  float mean = 0.f;
  if (threadIdx.x == 0) mean = total * scale;
  out[threadIdx.x] = mean + threadIdx.x;
}

K variance_of_leader(float *out, const float *in, float scale) {
  __shared__ float sums[2];
  float x = in[threadIdx.x];
  if (threadIdx.x == 0) { sums[0] = x; sums[1] = x * x; }
  float result = 1.f;
  if (threadIdx.x == 0) {
    float mean = sums[0] * scale;
    result = sums[1] * scale - mean * mean;
  }
  out[threadIdx.x] = result;
}

K ratio_of_last(float *out, const float *in) {
  __shared__ float last[2];
  unsigned lane = threadIdx.x & 31;
  float x = in[threadIdx.x];
  if (lane == 31) { last[0] = x + 1; last[1] = x * 2; }
  float ratio = 0.f;
  if (lane == 31) ratio = last[0] / last[1];
  out[threadIdx.x] = ratio;
}

K integer_of_leader(int *out, const int *in, int n) {
  __shared__ int base;
  if (threadIdx.x == 0) base = in[0];
  int first = n;
  if (threadIdx.x == 0) first = base * 4 + 1;
  out[threadIdx.x] = first;
}

K minimum_of_leader(int *out, const int *in) {
  __shared__ int least;
  if (threadIdx.x == 0) least = in[0];
  int bound = 7;
  if (threadIdx.x == 0) bound = min(least, in[1]);
  out[threadIdx.x] = bound;
}

// Edges of a tile, read by the lanes that wrote them.
K halo(float *out, const float *in, float left, float right) {
  __shared__ float s[34];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane + 1] = in[lane];
  if (lane == 0) s[0] = left;
  if (lane == 31) s[33] = right;
  float edge = 0.f;
  if (lane == 0) edge = s[0] - s[1];
  if (lane == 31) edge = s[33] - s[32];
  out[lane] = edge;
}

K halo_of_integers(int *out, const int *in, int left) {
  __shared__ int s[33];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane + 1] = in[lane];
  if (lane == 0) s[0] = left;
  int edge = 0;
  if (lane == 0) edge = s[0] + s[1] * 3;
  out[lane] = edge;
}

// What one lane reads before it writes.
K next_of_leader(int *out, const int *in) {
  __shared__ int s[32];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  __syncwarp();
  int next = 5;
  if (lane == 0) next = s[0] * 3 + 1;
  s[lane] = next;
  __syncwarp();
  out[lane] = s[lane ^ 1];
}

K difference_of_second(float *out, const float *in) {
  __shared__ float s[32];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  __syncwarp();
  float own = 0.f;
  if (lane == 2) own = s[2] - 1.f;
  s[lane] = own;
  __syncwarp();
  out[lane] = s[31 - lane];
}

// A counter that its owner moves on, and hands out by a shuffle.
K tickets(int *out) {
  __shared__ int counter;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) counter = 0;
  for (int i = 0; i < 4; i++) {
    int mine = 0;
    if (lane == 0) { mine = counter; counter = mine + 1; }
    mine = __shfl_sync(~0u, mine, 0);
    out[mine * 32 + lane] = i;
  }
}

K tickets_of_four(int *out, const int *in) {
  __shared__ int counter;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) counter = in[0];
  int mine = 1;
  if (lane == 0) { mine = counter + 3; counter = mine; }
  mine = __shfl_sync(~0u, mine, 0);
  out[mine * 32 + lane] = lane;
}

K tickets_of_groups(int *out, const int *in) {
  __shared__ int counter[4];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if ((lane & 7) == 0) counter[lane >> 3] = in[lane];
  int mine = 0;
  if ((lane & 7) == 0) { mine = counter[lane >> 3]; counter[lane >> 3] = mine + 8; }
  mine = __shfl_sync(~0u, mine, 0, 8);
  out[mine * 32 + lane] = lane;
}

// Conditions behind the condition on the lane.
K flag_of_leader(int *out, const int *in) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = in[0];
  bool is_set = false;
  if (threadIdx.x == 0 && flag > 3) is_set = true;
  out[threadIdx.x] = is_set;
}

K rounded_by_leader(float *out, const float *in) {
  __shared__ float x;
  if (threadIdx.x == 0) x = in[0];
  int steps = 0;
  if (threadIdx.x == 0) steps = static_cast<int>(x * 8.f) & 63;
  out[threadIdx.x] = steps;
}

// Loads that do not change in a loop are made before it.
K counted_by_second(float *out, const float *in) {
  __shared__ float s[32];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  float sum = 0;
  for (int i = 0; i < 6; i++)
    if (lane == 1) sum += s[1] * in[i];
  out[lane] = sum;
}

K counted_while(float *out, const float *in, int n) {
  __shared__ float s[32];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  float sum = 0;
  for (int i = 0; i < n; i++)
    if (in[i] > 0 && lane == 1) sum += s[1] * in[i];
  out[lane] = sum;
}

// A value that all lanes read, and none needs.
K logged(int *out, const int *in, bool verbose) {
  __shared__ volatile int s[32];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  int seen = s[lane ^ 1];
  __syncwarp();
  out[lane] = s[lane] + (seen & 0);
}
