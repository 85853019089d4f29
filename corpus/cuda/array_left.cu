// why: threads leave an array in shared memory, or access it not aligned, for some size or pitch
// ptxcheck-args: -W conditional:PTX211

// More elements than the array has.
__global__ void filled(float *out, const float *in, int n) {
  __shared__ float values[256];
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = in[i]; //~ PTX211?
  __syncthreads();
  if (threadIdx.x < 256) out[threadIdx.x] = values[threadIdx.x];
}

// A pitch that is too wide.
__global__ void pitched(float *out, const float *in, int pitch) {
  __shared__ float tile[32 * 33];
  tile[threadIdx.y * pitch + threadIdx.x] = in[threadIdx.x]; //~ PTX211?
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x % 32];
}

// A padding that is no multiple of 4.
__global__ void padded(float4 *out, const float *in, int pad) {
  __shared__ __align__(16) float tile[1024];
  if (threadIdx.x < 256) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (pad < 16 && threadIdx.x < 32) out[threadIdx.x] = *(float4 *)&tile[threadIdx.x * 4 + pad]; //~[nvcc] PTX211?
}

// One element less is kept than is read.
__global__ void shifted(float *out, int first) {
  __shared__ float line[160];
  if (threadIdx.x < 32) line[threadIdx.x] = out[threadIdx.x];
  __syncwarp();
  if (first <= 153 && threadIdx.x < 8) out[threadIdx.x] = line[threadIdx.x + first]; //~ PTX211?
}
