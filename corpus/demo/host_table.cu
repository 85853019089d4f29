// nvcc-flags: --expt-relaxed-constexpr
// A constexpr function reads a table of the host: nvcc makes a null reference of it, and then removes the kernel's code.
constexpr int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

constexpr int prime(int i) { return primes[i]; }

__global__ void look_up(int *out) {
  out[threadIdx.x] = prime(threadIdx.x & 7);
}
