// why: clang makes copies of constant host tables in device memory: their values are right, and nothing is the host's
// compilers: clang
// targets: sm_90 sm_120
// ptxcheck-args: --whole-program -W potential:PTX105 -W potential:PTX106

constexpr int primes[4] = {2, 3, 5, 7};
struct Limits {
  static constexpr int least[4] = {1, 2, 4, 8};
};

constexpr int prime(int i) { return primes[i]; }

__global__ void look_up(int *out, const int *in) { out[threadIdx.x] = prime(threadIdx.x & 3) + Limits::least[in[0] & 3]; }
