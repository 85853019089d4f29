// why: elect.sync picks one lane, as asynchronous copies are started; the others meet it behind
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX404 -W potential:PTX406 -W PTX410
// targets: sm_90 sm_120

__device__ bool elect_one() {
  unsigned elected = 0;
  asm volatile(
      "{\n"
      "  .reg .pred chosen;\n"
      "  elect.sync _|chosen, 0xffffffff;\n"
      "  selp.b32 %0, 1, 0, chosen;\n"
      "}\n"
      : "=r"(elected));
  return elected != 0;
}

__global__ void one_starts(int *out, int *flag) {
  if (elect_one()) atomicExch(flag, 1);
  __syncwarp();
  out[threadIdx.x] = *flag;
}

__global__ void one_of_one_warp(int *out, int *flag) {
  if (threadIdx.x / 32 == 0) {
    if (elect_one()) *flag = 7;
    __syncwarp();
  }
  __syncthreads();
  out[threadIdx.x] = *flag;
}
