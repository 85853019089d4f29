// fix: the same instructions with `.sync` and a mask
// target: sm_75

__global__ void carries(unsigned *words) {
  unsigned x = words[threadIdx.x], from, full;
  asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(from) : "r"(x));
  asm volatile(
      "{ .reg .pred p; setp.eq.u32 p, %1, 0xffffffff; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
      : "=r"(full)
      : "r"(x));
  words[threadIdx.x] = x + ((full >> (from & 31)) & 1);
}
