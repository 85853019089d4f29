// why: a table at namespace scope lives on the host; read in a constexpr function, nvcc makes a null reference of it
// compilers: nvcc
// targets: sm_75 sm_90
// nvcc-flags: --expt-relaxed-constexpr
// ptxcheck-args: -W potential:PTX106
constexpr int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

constexpr int prime(int i) { return primes[i]; }  //~[G] PTX106?

__global__ void look_up(int *out) {  //~[O3] PTX107
  out[threadIdx.x] = prime(threadIdx.x & 7);
}
