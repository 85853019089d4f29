// why: sizes and pitches that the kernel keeps inside the array
// ptxcheck-args: -W conditional:PTX211

__global__ void tested_size(float *out, const float *in, int n) {
  __shared__ float values[256];
  if (n > 256) return;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = in[i];
  __syncthreads();
  if (threadIdx.x < 256) out[threadIdx.x] = values[threadIdx.x];
}

__global__ void tested_index(float *out, const float *in, int n) {
  __shared__ float values[256];
#pragma unroll 1
  for (int i = threadIdx.x; i < n && i < 256; i += blockDim.x) values[i] = in[i];
  __syncthreads();
  if (threadIdx.x < 256) out[threadIdx.x] = values[threadIdx.x];
}

__global__ void smallest(float *out, const float *in, int n) {
  __shared__ float values[256];
  int m = n < 256 ? n : 256;
#pragma unroll 1
  for (int i = threadIdx.x; i < m; i += blockDim.x) values[i] = in[i];
  __syncthreads();
  if (threadIdx.x < 256) out[threadIdx.x] = values[threadIdx.x];
}

__global__ void tiles(float *out, const float *in, int n) {
  __shared__ float values[256];
#pragma unroll 1
  for (int from = 0; from < n; from += 256) {
#pragma unroll 1
    for (int i = threadIdx.x; i < 256 && from + i < n; i += blockDim.x) values[i] = in[from + i];
    __syncthreads();
    if (threadIdx.x < 256 && from + threadIdx.x < n) out[from + threadIdx.x] = values[threadIdx.x] * 2;
    __syncthreads();
  }
}

__global__ void ring(float *out, const float *in, int n) {
  __shared__ float values[4][64];
#pragma unroll 1
  for (int k = 0; k < n; k++) {
    if (threadIdx.x < 64) values[k % 4][threadIdx.x] = in[k * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) out[k * 64 + threadIdx.x] = values[k % 4][63 - threadIdx.x];
  }
}

__global__ void masked(float *out, unsigned n) {
  __shared__ float values[256];
  values[(threadIdx.x + n) & 255] = n;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x & 255];
}

__global__ void remainder(float *out, unsigned n) {
  __shared__ float values[100];
  values[(threadIdx.x + n) % 100] = n;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x % 100];
}

__global__ void tested_pitch(float *out, const float *in, int pitch) {
  __shared__ float tile[32 * 33];
  if (pitch < 1 || pitch > 33 || threadIdx.y >= 31 || threadIdx.x >= 32) return;
  tile[threadIdx.y * pitch + threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.y * pitch + threadIdx.x];
}

__global__ void aligned_padding(float4 *out, const float *in, int pad) {
  __shared__ __align__(16) float tile[1024];
  if (threadIdx.x < 256) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (pad >= 0 && pad < 4 && threadIdx.x < 32) out[threadIdx.x] = *(float4 *)&tile[threadIdx.x * 4 + pad * 4];
}

__global__ void tested_radius(float *out, int radius) {
  __shared__ float line[160];
  if (threadIdx.x < 160) line[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  if (radius >= 0 && radius < 32 && threadIdx.x < 128) out[threadIdx.x] = line[threadIdx.x + radius];
}

__global__ void loaded(float *out, const int *index) {
  __shared__ float values[256];
  if (threadIdx.x < 256) values[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[index[threadIdx.x]];
}

__global__ void counted(float *out, const int *count) {
  __shared__ float values[256];
#pragma unroll 1
  for (int i = threadIdx.x; i < count[0]; i += blockDim.x) values[i] = out[i];
  __syncthreads();
  if (threadIdx.x < 256) out[threadIdx.x] = values[threadIdx.x];
}

__global__ void histogram(int *out, const unsigned char *in, int n) {
  __shared__ int bins[256];
#pragma unroll 1
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[i]], 1);
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = bins[i];
}

extern __shared__ float sized[];

__global__ void sized_at_launch(float *out, const float *in, int n) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) sized[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = sized[threadIdx.x];
}

__global__ void reduction(float *out, const float *in, int n) {
  __shared__ float sums[32];
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = sums[0];
}

__global__ void by_width(float *out, int width) {
  __shared__ float values[1024];
  if (width * blockDim.y <= 1024 && threadIdx.x < width) values[threadIdx.y * width + threadIdx.x] = width;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}
