// why: one region that is used for several things, one after the other, and parts of one region that are different bytes

// right: the region is used again after a barrier.
__global__ void __launch_bounds__(128) used_again(float *out, const float *a, const float *b) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  float v = s[127 - t];
  __syncthreads();
  s[t] = b[t];
  __syncthreads();
  out[t] = v * s[t ^ 64];
}

struct Cell {
  float height;
  float flow[3];
  int owner;
};

// right: members of the struct of a neighbour are read, others of it are written by its own thread: different bytes.
__global__ void __launch_bounds__(128) other_members(float *out, const Cell *in) {
  __shared__ Cell cell[128];
  int t = threadIdx.x;
  cell[t] = in[t];
  __syncthreads();
  int next = (t + 1) & 127;
  cell[t].flow[0] = cell[next].height - cell[t].height;
  cell[t].flow[1] = cell[(t + 127) & 127].height * 0.5f;
  cell[t].owner = t;
  __syncthreads();
  out[t] = cell[next].flow[0] + cell[next].flow[1] + cell[127 - t].owner;
}

// right: 16 bytes a thread, and the 16 bytes of others are read after a barrier only.
__global__ void __launch_bounds__(64) sixteen_bytes(float4 *out, const float4 *in) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float *word = reinterpret_cast<float *>(s);
  out[t] = make_float4(word[t], word[t + 64], word[t + 128], word[t + 192]);
}

// right: warp 0 writes the low bytes of the words and warp 1 the high ones; a barrier before the words are read.
__global__ void __launch_bounds__(64) bytes_of_words(unsigned *out, const unsigned char *in) {
  __shared__ unsigned word[32];
  unsigned char *byte = reinterpret_cast<unsigned char *>(word);
  int t = threadIdx.x, lane = t & 31;
  if (t < 32) byte[lane * 4] = in[t], byte[lane * 4 + 1] = in[t + 64];
  else byte[lane * 4 + 2] = in[t], byte[lane * 4 + 3] = in[t + 64];
  __syncthreads();
  if (t < 32) out[t] = word[31 - t];
}

// right: reads only, after the one barrier: a table that nobody changes later.
__global__ void __launch_bounds__(256) table(float *out, const unsigned char *in, const float *value, int n) {
  __shared__ float table[256];
  table[threadIdx.x] = value[threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) out[i] = table[in[i]];
}
