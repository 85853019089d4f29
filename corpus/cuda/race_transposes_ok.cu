// why: tiles that are written by rows and read by columns, with a barrier in between

// right: rows and columns of a one-dimensional block, swizzled, no padding.
__global__ void __launch_bounds__(256) swizzled(int *out, const int *in) {
  __shared__ int tile[32 * 32];
  int c = threadIdx.x & 31, r0 = threadIdx.x >> 5;
#pragma unroll
  for (int r = r0; r < 32; r += 8) tile[r * 32 + (c ^ r)] = in[r * 32 + c];
  __syncthreads();
#pragma unroll
  for (int r = r0; r < 32; r += 8) out[r * 32 + c] = tile[c * 32 + (r ^ c)];
}

// right: a tile of bytes, written as words and read as bytes after a barrier.
__global__ void __launch_bounds__(64) words_to_bytes(unsigned char *out, const unsigned *in) {
  __shared__ unsigned tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const unsigned char *byte = reinterpret_cast<const unsigned char *>(tile);
#pragma unroll
  for (int k = 0; k < 4; k++) out[threadIdx.x * 4 + k] = byte[k * 64 + threadIdx.x];
}

// right: a thread holds four elements, and the block changes from "blocked" to "striped".
__global__ void __launch_bounds__(128) blocked_to_striped(int *out, const int4 *in) {
  __shared__ int s[512];
  int t = threadIdx.x;
  reinterpret_cast<int4 *>(s)[t] = in[t];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) out[k * 128 + t] = s[k * 128 + t];
}
