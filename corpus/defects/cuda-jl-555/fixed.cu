// fix: the second array begins behind the first

extern __shared__ int memory[];

__global__ void differences(const float *in, float *out) {
  int *later = memory;
  float *earlier = reinterpret_cast<float *>(memory + blockDim.x);
  int t = threadIdx.x;
  later[t] = int(in[t]) + 1;
  earlier[t] = in[t];
  __syncthreads();
  out[t] = float(later[t]) - earlier[t];
}
