// why: a cycle that `goto` enters at two places has no header; who skips it and stores is missed at its vote, who only ends is not

__global__ void skipped(int n, int *out) {
  int i = n;
  if ((threadIdx.x & 31) < 8) {
    out[threadIdx.x] = 1;
    return;
  }
  if (n == 7) goto second;
first:
  do {
    out[i] = __any_sync(0xffffffffu, out[i] > 3); //~ PTX401
    i -= 1;
  } while (i & 15);
second:
  out[i] += 5;
  i -= 2;
  if (out[i] > 3) goto first;
}

__global__ void left_early(int n, int *out) {
  int i = n;
  if (threadIdx.x < 8) return;
  if (n == 7) goto second;
first:
  do {
    out[i] = __any_sync(0xffffffffu, out[i] > 3);
    i -= 1;
  } while (i & 15);
second:
  out[i] += 5;
  i -= 2;
  if (out[i] > 3) goto first;
}
