// source: https://github.com/desul/desul/issues/132
// defect: lanes that hold a lock in turn vote with the mask of those that were there before the loop
// class: B
// when: a warp of which the scheduler runs lanes apart before they ask for the mask
// found: potential

__device__ void locked_add(int *lock, float *value, float more) {
  int done = 0;
  unsigned mask = __activemask();
  unsigned active = __ballot_sync(mask, 1), done_active = 0;
  while (active != done_active) {
    if (!done && atomicCAS(lock, 0, 1) == 0) {
      *value += more;
      __threadfence();
      atomicExch(lock, 0);
      done = 1;
    }
    done_active = __ballot_sync(mask, done);  //~ PTX410
  }
}

__global__ void subtract(const int *chosen, int *lock, float *value) {
  for (int i = 0; i < 2; ++i) {
    if (chosen[2 * threadIdx.x + i]) locked_add(lock, value, -1);
  }
}
