// why: threads and warps with roles, and no barrier between those that share a place

// wrong: thread 0 stores, all read, nobody waits.
__global__ void __launch_bounds__(128) thread_zero_tells(int *out, int *next) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  out[tile * 128 + threadIdx.x] = threadIdx.x;  //~ PTX415
}

// wrong: the same with a __syncwarp, which is for the first warp only.
__global__ void __launch_bounds__(128) thread_zero_tells_its_warp(int *out, int *next) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  __syncwarp();
  out[tile * 128 + threadIdx.x] = threadIdx.x;  // not found: block size is not stated
}

// wrong: thread 0 stores the next tile while others have not read this one.
__global__ void __launch_bounds__(128) no_barrier_after_reads(int *out, int *next, int limit) {
  __shared__ int tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);  // not found: the loop ends by data
    __syncthreads();
    int mine = tile;
    if (mine >= limit) break;
    out[mine * 128 + threadIdx.x] = mine;
  }
}

// wrong: the last thread stores the total, all threads take it.
__global__ void __launch_bounds__(128) last_thread_tells(int *out, const int *in) {
  __shared__ int upto[4], all;
  int t = threadIdx.x, lane = t % 32, sum = in[t];
  for (int d = 1; d < 32; d *= 2) {
    int below = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += below;
  }
  if (lane == 31) upto[t / 32] = sum;
  __syncthreads();
  for (int w = 0; w < t / 32; w++) sum += upto[w];
  if (t == 127) all = sum;  //~[O3] PTX416
  out[t] = all - sum;  //~[G] PTX416
}

// wrong: no barrier before the serial part of thread 0.
__global__ void __launch_bounds__(256) serial_offsets(int *out, const int *count) {
  __shared__ int offset[257];
  offset[threadIdx.x + 1] = count[threadIdx.x];
  if (threadIdx.x == 0) {
    offset[0] = 0;
    for (int i = 1; i <= 256; i++) offset[i] += offset[i - 1];  // not found: its place changes in a loop
  }
  __syncthreads();
  out[threadIdx.x] = offset[threadIdx.x] * 1000 + offset[threadIdx.x + 1];
}

// wrong: no barrier after the serial part of thread 0.
__global__ void __launch_bounds__(256) serial_offsets_read(int *out, const int *count) {
  __shared__ int offset[257];
  offset[threadIdx.x + 1] = count[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    offset[0] = 0;
    for (int i = 1; i <= 256; i++) offset[i] += offset[i - 1];
  }
  out[threadIdx.x] = offset[threadIdx.x] * 1000 + offset[threadIdx.x + 1];  //~ PTX415
}

// wrong: one warp reads what all warps store, and nobody waits.
__global__ void __launch_bounds__(256) one_warp_at_the_end(float *out, const float *in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x] * 2;
  if (threadIdx.x / 32 == 3) {
    float v = 0;
    for (int k = 0; k < 8; k++) v += s[k * 32 + threadIdx.x % 32];  // not found: not between warps 0 and 1
    out[threadIdx.x % 32] = v;
  }
}

// wrong: the region of warp 2 begins before that of warp 1 ends.
__global__ void __launch_bounds__(128) regions_by_switch(float *out, const float *in) {
  __shared__ float s[160];
  int lane = threadIdx.x % 32;
  switch (threadIdx.x / 32) {
  case 0: s[lane] = in[lane]; break;
  case 1: s[32 + lane * 2] = in[lane + 32], s[33 + lane * 2] = in[lane + 64]; break;
  case 2: s[80 + lane] = in[lane + 96]; break;  // not found: not between warps 0 and 1
  default: s[159 - lane] = 1; break;
  }
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + 16] * s[159 - threadIdx.x];
}

// wrong: warp 0 fills the buffer that the others use.
__global__ void __launch_bounds__(160) loader_warp(float *out, const float *in, int tiles) {
  __shared__ float buffer[128];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int tile = 0; tile < tiles; tile++) {
    for (int k = 0; k < 128; k += 32)
      if (warp == 0) buffer[k + lane] = in[tile * 128 + k + lane]; else sum += buffer[k + (lane ^ warp)];  //~[O3] PTX416
    __syncthreads();
  }
  if (warp > 0) out[threadIdx.x - 32] = sum;
}

// wrong: the halves of the block swap without waiting.
__global__ void __launch_bounds__(256) halves(int *out, const int *in) {
  __shared__ int a[128], b[128];
  int t = threadIdx.x;
  if (t < 128) a[t] = in[t];
  else b[t - 128] = in[t] * 7;
  out[t] = t < 128 ? b[127 - t] : a[255 - t];  // not found: not between warps 0 and 1
}

// wrong: a warp takes the element of the next warp.
__global__ void __launch_bounds__(256) element_of_next_warp(float *out, const float *in) {
  __shared__ float first[8];
  int warp = threadIdx.x / 32;
  float v = in[blockIdx.x * 256 + threadIdx.x];
  if (threadIdx.x % 32 == 0) first[warp] = v;
  __syncwarp();
  out[blockIdx.x * 256 + threadIdx.x] = v - first[(warp + 1) & 7];  // not found: block size is not stated
}

// wrong: different values by all threads of a column to one element, of which the last counts.
__global__ void __launch_bounds__(256) any_may_win(int *out, const int *in) {
  __shared__ int row[32];
  row[threadIdx.x & 31] = in[threadIdx.x];  // not found: the values may be equal
  __syncthreads();
  out[threadIdx.x] = row[31 - (threadIdx.x & 31)];
}
