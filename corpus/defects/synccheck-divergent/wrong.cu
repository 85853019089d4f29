// source: https://github.com/NVIDIA/compute-sanitizer-samples/tree/master/Synccheck
// defect: half of the threads leave a loop early, and so the kernel, while the others wait at the barrier in it
// class: C
// when: the threads that miss the barrier only end, and PTX waits for those that have not; synccheck reports it
// found: missed

__shared__ int kept[64];

__global__ void __launch_bounds__(64) rounds(int *out) {
  int count = threadIdx.x % 2 == 0 ? 4 : 8;
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    kept[threadIdx.x] = sum + i;
    __syncthreads();  //~ PTX411
    sum += kept[threadIdx.x ^ 1];
    __syncthreads();  //~ PTX411
  }
}
