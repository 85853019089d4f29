// why: shfl and vote without .sync, from inline assembly; below sm_90 nvcc makes the PTX without a word
// targets: sm_75

__global__ void old_shuffle(int *out) {
  int value = out[threadIdx.x], first;
  asm volatile("shfl.idx.b32 %0, %1, 0, 31;" : "=r"(first) : "r"(value));  //~ PTX408
  out[threadIdx.x] = first;
}

__global__ void old_vote(unsigned *out, int limit) {
  unsigned lanes;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, %2; vote.ballot.b32 %0, p; }" : "=r"(lanes) : "r"(threadIdx.x), "r"(limit));  //~ PTX408
  out[threadIdx.x] = lanes;
}
