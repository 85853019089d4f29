// why: alloca with a size that only the caller knows: no tool can say how much stack the kernel needs

__global__ void reverse(int *out, int n) {
  int *scratch = static_cast<int *>(__builtin_alloca(n * sizeof(int)));  //~ PTX602
  for (int i = 0; i < n; i++) scratch[n - 1 - i] = out[i];
  for (int i = 0; i < n; i++) out[i] = scratch[i];
}
