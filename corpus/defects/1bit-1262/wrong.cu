// source: https://github.com/1bit-MONSTER/1bit-MONSTER/issues/1262
// defect: lanes whose expert is none go on to the next round past the barriers of this one
// class: B
// when: a block in which some threads have an expert and others have not
// found: potential

__shared__ float tile[128];

__global__ void __launch_bounds__(128) experts(const int *chosen, const float *weights, float *out) {
  float sum = 0;
  for (int slot = 0; slot < 4; ++slot) {
    int expert = chosen[slot * 128 + threadIdx.x];
    if (expert < 0) continue;
    tile[threadIdx.x] = weights[expert];
    __syncthreads();  //~ PTX411
    sum += tile[127 - threadIdx.x];
    __syncthreads();  //~ PTX411
  }
  out[threadIdx.x] = sum;
}
