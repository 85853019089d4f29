// targets: sm_75 sm_90
// why: one region for several things, without a barrier at a change, or parts of it that are not different

union Scratch {
  float values[256];
  int places[256];
};

// wrong: places are stored while others still read values, in the same bytes.
__global__ void __launch_bounds__(256) union_by_phases(int *out, const float *in) {
  __shared__ Scratch s;
  int t = threadIdx.x;
  s.values[t] = in[t];
  __syncthreads();
  int v = __float_as_int(s.values[255 - t]);
  s.places[t] = v * 3;  //~ PTX416
  __syncthreads();
  out[t] = s.places[(t + 100) & 255];
}

// wrong: the region is used again without a barrier.
__global__ void __launch_bounds__(128) used_again(float *out, const float *a, const float *b) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  float v = s[127 - t];
  s[t] = b[t];  //~ PTX416
  __syncthreads();
  out[t] = v * s[t ^ 64];
}

struct Cell {
  float height;
  float flow[3];
  int owner;
};

// wrong: the member that is written is the one that the thread 32 before reads.
__global__ void __launch_bounds__(128) same_member(float *out, const Cell *in) {
  __shared__ Cell cell[128];
  int t = threadIdx.x;
  cell[t] = in[t];
  __syncthreads();
  int next = (t + 32) & 127;
  cell[t].height = cell[next].height * 0.5f;  //~ PTX416
  cell[t].owner = t;
  __syncthreads();
  out[t] = cell[next].height + cell[127 - t].owner;
}

// wrong: warp 1 stores words, warp 0 bytes of them.
__global__ void __launch_bounds__(64) bytes_of_words(unsigned *out, const unsigned char *in) {
  __shared__ unsigned word[32];
  unsigned char *byte = reinterpret_cast<unsigned char *>(word);
  int t = threadIdx.x, lane = t & 31;
  if (t < 32) byte[lane * 4] = in[t];
  else word[lane] = in[t] * 65536u;  // not found: the values may be equal
  __syncthreads();
  if (t < 32) out[t] = word[31 - t];
}

// wrong: 16 bytes a thread, read as words of others.
__global__ void __launch_bounds__(64) sixteen_bytes(float4 *out, const float4 *in) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  float *word = reinterpret_cast<float *>(s);
  out[t] = make_float4(word[t], word[t + 64], word[t + 128], word[t + 192]);  //~[!ir,!clang-G] PTX415 PTX416
}

// wrong: the counts of the level are reset before all have read them.
__global__ void __launch_bounds__(128) levels(int *out, const int *in, int rounds) {
  __shared__ int queue[2][512], used[2];
  int t = threadIdx.x, now = 0;
  if (t < 2) used[t] = 0;
  __syncthreads();
  for (int k = 0; k < rounds; k++) {
    if (in[k * 128 + t] > 0) queue[now][atomicAdd(&used[now], 1)] = t;
    __syncthreads();
    int count = used[now];  //~[nvcc-O3] PTX415
    if (t == 0) used[now] = 0;
    if (t < count) out[k * 128 + t] = queue[now][count - 1 - t];
    now ^= 1;
  }
}
