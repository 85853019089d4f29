// why: each thread uses slots of its own, which it finds in many ways: no thread sees what another one wrote

#define LOOP _Pragma("unroll 1")

// right: two elements a thread, and the choice between them stays within the pair.
__global__ void __launch_bounds__(256) pair(float *out, const float *in, const int *which) {
  __shared__ float both[512];
  unsigned t = threadIdx.x;
  both[2 * t] = in[t];
  both[2 * t + 1] = in[t + 256];
  out[t] = both[2 * t + (which[t] & 1)];
}

// right: t ^ (t >> 3) is another number for each t, so the slots are different.
__global__ void __launch_bounds__(256) swizzled(int *out, const int *in, int n) {
  __shared__ int slot[256];
  unsigned t = threadIdx.x, at = t ^ (t >> 3);
  slot[at] = 1;
  LOOP for (int i = 0; i < n; i++) slot[at] = slot[at] * 3 + in[i * 256 + t];
  out[t] = slot[at];
}

// right: the last thread has the first slot, and so on: each keeps to its own.
__global__ void __launch_bounds__(256) from_the_end(int *out, const int *in, int n) {
  __shared__ int slot[256];
  slot[255 - threadIdx.x] = in[threadIdx.x];
  LOOP for (int i = 0; i < n; i++) slot[255 - threadIdx.x] ^= in[i];
  out[threadIdx.x] = slot[255 - threadIdx.x];
}

// right: the eight bits in the other order are a permutation.
__global__ void __launch_bounds__(256) bits_reversed(float *out, const float *in, int n) {
  __shared__ float slot[256];
  unsigned at = __brev(threadIdx.x) >> 24;
  slot[at] = in[threadIdx.x];
  LOOP for (int i = 0; i < n; i++) slot[at] *= in[i];
  out[threadIdx.x] = slot[at];
}

// right: an odd factor permutes the 256 slots, and so does a rotation.
__global__ void __launch_bounds__(256) odd_factor(int *out, const int *in, int n) {
  __shared__ int a[256], b[256];
  unsigned t = threadIdx.x;
  a[t * 5 & 255] = in[t];
  b[(t + 37) & 255] = 0;
  LOOP for (int i = 0; i < n; i++) b[(t + 37) & 255] += a[t * 5 & 255]++;
  out[t] = b[(t + 37) & 255];
}

// right: neighbours share a word, but a byte is a place of its own.
__global__ void __launch_bounds__(256) bytes(unsigned char *out, const unsigned char *in, int n) {
  __shared__ unsigned char b[256];
  b[threadIdx.x] = in[threadIdx.x];
  LOOP for (int i = 0; i < n; i++) b[threadIdx.x] += in[i * 256 + threadIdx.x];
  out[threadIdx.x] = b[threadIdx.x];
}

// right: the row of the warp and the column of the lane are the thread's number, taken apart.
__global__ void __launch_bounds__(256) warp_and_lane(int *out, const int *in, int n) {
  __shared__ int cell[8][33];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  cell[warp][lane] = in[threadIdx.x];
  LOOP for (int i = 0; i < n; i++) cell[warp][lane] += in[i] * cell[warp][lane];
  out[threadIdx.x] = cell[warp][lane];
}

// right: four slots a thread, 256 apart, in an unrolled loop.
__global__ void __launch_bounds__(256) four_apart(float *out, const float *in, const int *pick) {
  __shared__ float v[1024];
#pragma unroll
  for (int k = 0; k < 4; k++) v[threadIdx.x + k * 256] = in[threadIdx.x + k * 256];
  out[threadIdx.x] = v[threadIdx.x + (pick[threadIdx.x] & 3) * 256];
}
