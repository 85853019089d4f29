// why: strong accesses to the same bytes are no data race (PTX ISA, Memory Consistency Model): relaxed ones, elections that any lane may win,
// and loops that wait for a flag; cells that nobody reads may hold the value of any lane

#include <cuda/atomic>

#define K extern "C" __global__ void

using Bound = cuda::atomic_ref<int, cuda::thread_scope_block>;

K bound_of_progress(int *out, const int *in) {
  __shared__ int bound;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) bound = 0;
  __syncwarp();
  Bound hint(bound);
  if (lane == 0) hint.store(in[0], cuda::memory_order_relaxed);
  out[lane] = max(hint.load(cuda::memory_order_relaxed), in[lane]) > in[lane] ? 1 : 0;
}

K bound_by_any(int *out, const int *in) {
  __shared__ int bound;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  Bound hint(bound);
  hint.store(in[lane], cuda::memory_order_relaxed);
  out[lane] = hint.load(cuda::memory_order_relaxed);
}

K bound_of_the_device(int *out, const int *in, int *bound) {
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> hint(bound[0]);
  if (lane == 3) hint.store(in[0], cuda::memory_order_relaxed);
  out[lane] = hint.load(cuda::memory_order_relaxed) + in[lane];
}

K winner(int *out) {
  __shared__ volatile unsigned winners[32];
  unsigned t = threadIdx.x, warp = t >> 5;
  winners[warp] = t;
  __syncwarp();
  if (winners[warp] == t) out[warp] = 1;
}

K winner_of_active(int *out, const int *in) {
  __shared__ volatile int who;
  int t = threadIdx.x;
  if (t >= 32) return;
  if (in[t] > 0) who = t;
  __syncwarp();
  if (who == t) out[0] = t;
}

K winner_of_even(int *out) {
  __shared__ volatile int who;
  int t = threadIdx.x;
  if (t >= 32) return;
  if ((t & 1) == 0) who = t;
  __syncwarp();
  out[t] = who;
}

K without_work(int *out) {
  __shared__ int s[33];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane < 16 ? lane : 32] = lane * 3;
  __syncwarp();
  out[lane] = s[lane & 15];
}

K without_work_in_front(int *out, const int *in) {
  __shared__ int s[40];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[(lane & 1) ? 8 + (lane >> 1) : 0] = in[lane];
  __syncwarp();
  out[lane] = s[8 + (lane & 15)];
}

K tail_without_work(float *out, const float *in) {
  __shared__ float s[65];
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  s[lane] = in[lane];
  s[lane >= 20 ? 64 : lane + 32] = in[lane] * 2;
  __syncwarp();
  out[lane] = lane < 20 ? s[lane + 32] : s[lane];
}

// Waits for a flag; the value ends the loop that it is read in.
K waits(int *out, const int *in) {
  __shared__ volatile int flag;
  __shared__ volatile int data;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) flag = 0;
  __syncwarp();
  if (lane == 0) {
    data = in[0];
    __threadfence_block();
    flag = 1;
  } else {
    while (flag == 0) {}
    __threadfence_block();
    out[lane] = data;
  }
}

// Lanes wait in a function that is too large to be followed.
__device__ __noinline__ void wait_with_notes(volatile int *flag, int *notes) {
  unsigned x = 1;
  while (*flag != 16) {
#pragma unroll
    for (int i = 0; i < 48; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; notes[i] += x; }
  }
}

K waits_in_a_function(int *out, const int *in, int *notes) {
  __shared__ int s[16];
  __shared__ int flag;
  unsigned lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) flag = 0;
  __syncwarp();
  if (lane >= 16) {
    wait_with_notes(&flag, notes + lane * 64);
    __threadfence_block();
  }
  if (lane < 16) s[lane] = in[lane];
  if (lane >= 16) out[lane] = s[lane - 16];
  if (lane < 16) { __threadfence_block(); atomicAdd(&flag, 1); }
}
