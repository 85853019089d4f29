// ptxcheck-args: -W conditional
// why: a table with an initialiser that nothing writes has the values of its initialiser: no witness may give it others

#define K extern "C" __global__ void

K masks(int *out, const int *in) {
  static const unsigned table[4] = {0xff, 0xff00, 0xff0000, 0xff000000};
  unsigned t = threadIdx.x, lane = t & 31;
  out[t] = __shfl_xor_sync(table[lane >> 3], in[t], 1);
}

K masks_of_halves(int *out, const int *in) {
  static const unsigned table[2] = {0xffff, 0xffff0000};
  unsigned t = threadIdx.x, lane = t & 31;
  out[t] = __ballot_sync(table[lane >> 4], in[t] > 0);
}

K rounds(int *out, const int *in) {
  static const int table[2] = {3, 3};
  unsigned t = threadIdx.x, lane = t & 31;
  int a = in[t];
  for (int i = 0; i < table[lane >> 4]; i++) a += __shfl_xor_sync(~0u, a, 1 << i);
  out[t] = a;
}

K sources(int *out, const int *in) {
  static const int table[4] = {3, 2, 1, 0};
  unsigned t = threadIdx.x, lane = t & 31;
  if (lane < 16) out[t] = __shfl_sync(0xfu << (lane & 28), in[t], (lane & 28) + table[lane & 3]);
  else out[t] = 0;
}

K all_take_part(int *out, const int *in) {
  static const char table[32] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  unsigned t = threadIdx.x;
  int a = in[t];
  if (table[t & 31]) a = __shfl_xor_sync(~0u, a, 2);
  out[t] = a;
}

K none_skips(int *out, const int *in) {
  static const short table[8] = {5, 6, 7, 8, 9, 10, 11, 12};
  unsigned t = threadIdx.x;
  if (table[t & 7] > 4) __syncthreads();
  out[t] = in[t];
}

__constant__ const unsigned half[2] = {0xffff, 0xffff0000};

K constant_memory(int *out, const int *in) {
  unsigned t = threadIdx.x, lane = t & 31;
  out[t] = __shfl_xor_sync(half[lane >> 4], in[t], 1);
}

K wide_entries(int *out, const int *in) {
  static const unsigned long long table[2] = {0x0000ffff00000001ull, 0xffff000000000002ull};
  unsigned t = threadIdx.x, lane = t & 31;
  out[t] = __shfl_xor_sync(static_cast<unsigned>(table[lane >> 4] >> 32), in[t], 1);
}
