// source: https://github.com/dealii/dealii/pull/8337
// defect: the threads of a cell wait at the block's barrier only if the cell has hanging nodes
// class: B
// when: a block with cells of both kinds
// found: potential

__shared__ float values[256];

__global__ void resolve(const unsigned *constraints, float *out) {
  int cell = threadIdx.x / 16;
  values[threadIdx.x] = out[threadIdx.x];
  if (constraints[cell] != 0) {
    float sum = values[threadIdx.x] + values[threadIdx.x ^ 1];
    __syncthreads();  //~ PTX411
    values[threadIdx.x] = sum;
  }
  out[threadIdx.x] = values[threadIdx.x];
}
