// source: https://github.com/NVlabs/xmp/issues/6
// defect: carries are collected with `shfl` and `vote` without `.sync`, which sm_70 and newer do not have from PTX 6.4 on
// class: A
// target: sm_75
// found: default

__global__ void carries(unsigned *words) {
  unsigned x = words[threadIdx.x], from, full;
  asm volatile("shfl.up.b32 %0, %1, 1, 0;" : "=r"(from) : "r"(x));  //~ PTX408
  asm volatile(
      "{ .reg .pred p; setp.eq.u32 p, %1, 0xffffffff; vote.ballot.b32 %0, p; }"  //~^ PTX408
      : "=r"(full)
      : "r"(x));
  words[threadIdx.x] = x + ((full >> (from & 31)) & 1);
}
