// why: the driver provides these to every module: printf, malloc, free and a failed assert
// ptxcheck-args: --whole-program
// clang-flags: -UNDEBUG

#include <cassert>
#include <cstdio>

__global__ void services(int *out, int n) {
  assert(n > 0);
  int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
  if (scratch == nullptr) {
    printf("block %d: no memory for %d numbers\n", blockIdx.x, n);
    return;
  }
  for (int i = 0; i < n; i++) scratch[i] = out[i] * i;
  out[threadIdx.x] = scratch[threadIdx.x % n];
  free(scratch);
}
