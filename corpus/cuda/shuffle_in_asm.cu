// why: inline assembly with .sync, a full mask and a good operand c is as right as the intrinsic

__global__ void scan(int *out) {
  int value = out[threadIdx.x];
  for (int distance = 1; distance < 32; distance *= 2) {
    asm volatile(
        "{ .reg .s32 r; .reg .pred p;"
        "  shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff;"
        "  @p add.s32 %0, %0, r; }"
        : "+r"(value)
        : "r"(distance));
  }
  out[threadIdx.x] = value;
}
