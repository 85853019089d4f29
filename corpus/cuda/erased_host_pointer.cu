// why: the address of a host variable, taken in a constexpr function, is 0 (static: a link may replace the body of an inline one)
// compilers: nvcc
// targets: sm_90 sm_120
// nvcc-flags: --expt-relaxed-constexpr

int coarse = 1, fine = 2;

static constexpr int *level(bool is_fine) { return is_fine ? &fine : &coarse; }

__global__ void read_level(int *out, int i) {
  out[0] = *level(i > 0);  //~[G] PTX106
}
