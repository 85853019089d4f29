// source: https://github.com/NVIDIA/compute-sanitizer-samples/tree/master/Synccheck
// defect: a ballot of the threads below 16 is the mask for the threads up to 16
// class: A
// found: default

__shared__ int kept[32];

__global__ void sums(int *out) {
  unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < 16);
  kept[threadIdx.x] = threadIdx.x;
  if (threadIdx.x <= 16) {
    __syncwarp(mask);  //~ PTX403
    out[threadIdx.x] = kept[threadIdx.x / 2];
  }
}
