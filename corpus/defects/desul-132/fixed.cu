// fix: the lanes of a ballot that all take part in call

__device__ void locked_add(unsigned mask, int *lock, float *value, float more) {
  int done = 0;
  unsigned done_active = 0;
  while (mask != done_active) {
    if (!done && atomicCAS(lock, 0, 1) == 0) {
      *value += more;
      __threadfence();
      atomicExch(lock, 0);
      done = 1;
    }
    done_active = __ballot_sync(mask, done);
  }
}

__global__ void subtract(const int *chosen, int *lock, float *value) {
  for (int i = 0; i < 2; ++i) {
    bool is_chosen = chosen[2 * threadIdx.x + i];
    unsigned mask = __ballot_sync(0xffffffff, is_chosen);
    if (is_chosen) locked_add(mask, lock, value, -1);
  }
}
