// why: a path of a constexpr function that calls a host function is removed, and the other one is taken always
// compilers: nvcc
// targets: sm_90 sm_120
// nvcc-flags: --expt-relaxed-constexpr

int ask_the_host(int);

constexpr int answer(int i) {
  if (i < 0) return 1;
  return ask_the_host(i) + 2;  //~[G] PTX106
}

__global__ void ask(int *out, int i) {
  out[0] = answer(i);
  out[1] = 5;
}
