// why: tiles that are written by rows and read by columns, with a barrier too few

// wrong: the warps do not wait for each other.
__global__ void __launch_bounds__(256) swizzled(int *out, const int *in) {
  __shared__ int tile[32 * 32];
  int c = threadIdx.x & 31, r0 = threadIdx.x >> 5;
#pragma unroll
  for (int r = 0; r < 32; r += 8) tile[(r0 + r) * 32 + (c ^ (r0 + r))] = in[(r0 + r) * 32 + c];
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 32; r += 8) out[(r0 + r) * 32 + c] = tile[c * 32 + ((r0 + r) ^ c)];  // not found: block size is not stated
}

// wrong: bytes of words that other threads are to store.
__global__ void __launch_bounds__(64) words_to_bytes(unsigned char *out, const unsigned *in) {
  __shared__ unsigned tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const unsigned char *byte = reinterpret_cast<const unsigned char *>(tile);
#pragma unroll
  for (int k = 0; k < 4; k++) out[threadIdx.x * 4 + k] = byte[k * 64 + threadIdx.x];  // not found: block size is not stated
}

// wrong: no barrier between "blocked" and "striped".
__global__ void __launch_bounds__(128) blocked_to_striped(int *out, const int4 *in) {
  __shared__ int s[512];
  int t = threadIdx.x;
  reinterpret_cast<int4 *>(s)[t] = in[t];
#pragma unroll
  for (int k = 0; k < 4; k++) out[k * 128 + t] = s[k * 128 + t];  //~[!ir] PTX415
  //~^[O3,!ir] PTX416
}
