// targets: sm_90 sm_120
// why: what looks like an exchange with nothing in between, and is ordered, is of one lane, or changes nothing

__device__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ void copies_done() { asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory"); }

// Fences with what they need.
__global__ void __launch_bounds__(32) fence_and_flag(int *out, const int *in) {
  __shared__ int word[32];
  __shared__ volatile int ready;
  unsigned lane = threadIdx.x;
  if (lane == 0) ready = 0;
  __syncwarp();
  if (lane == 0) {
    for (int i = 0; i < 32; i++) word[i] = in[i];
    __threadfence_block();
    ready = 1;
  } else {
    while (!ready) {}
    __threadfence_block();
    out[lane] = word[lane];
  }
}
__global__ void __launch_bounds__(32) fence_and_ticket(int *out, const int *in) {
  __shared__ int word[32], count;
  unsigned lane = threadIdx.x;
  if (lane == 0) count = 0;
  __syncwarp();
  word[lane] = in[lane];
  __threadfence_block();
  if (atomicAdd(&count, 1) == 31) {
    __threadfence_block();
    for (int i = 0; i < 32; i++) out[i] = word[i];
  }
}
__global__ void fence_and_last_block(float *out, float *part, unsigned *count, const float *in) {
  part[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  __threadfence();
  __shared__ bool is_last;
  if (threadIdx.x == 0) is_last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (is_last) out[threadIdx.x] = part[threadIdx.x ^ 1];
}
__global__ void __launch_bounds__(32) fence_and_own(int *out, const int *in) {
  __shared__ int word[32];
  word[threadIdx.x] = in[threadIdx.x];
  __threadfence_block();
  out[threadIdx.x] = word[threadIdx.x];
}
__global__ void __launch_bounds__(32) fence_and_wait(int *out, const int *in) {
  __shared__ int word[32];
  word[threadIdx.x] = in[threadIdx.x];
  __threadfence_block();
  __syncwarp();
  out[threadIdx.x] = word[31 - threadIdx.x];
}
__global__ void fence_and_barrier(int *out, const int *in) {
  __shared__ int word[1024];
  word[threadIdx.x] = in[threadIdx.x];
  __threadfence_block();
  __syncthreads();
  out[threadIdx.x] = word[threadIdx.x ^ 1];
}

// Copies.
__global__ void __launch_bounds__(32) own_copy(int *out, const int4 *in) {
  __shared__ int4 part[32];
  copy16(&part[threadIdx.x], in + threadIdx.x);
  copies_done();
  out[threadIdx.x] = part[threadIdx.x].x;
}
__global__ void __launch_bounds__(32) copy_and_wait(int *out, const int4 *in) {
  __shared__ int4 part[32];
  copy16(&part[threadIdx.x], in + threadIdx.x);
  copies_done();
  __syncwarp();
  out[threadIdx.x] = part[threadIdx.x ^ 1].x;
}
__global__ void copy_and_barrier(int *out, const int4 *in) {
  __shared__ int4 part[256];
  copy16(&part[threadIdx.x], in + threadIdx.x);
  copies_done();
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x ^ 1].x;
}
__global__ void __launch_bounds__(32) copies_by_rounds(int *out, const int4 *in, int n) {
  __shared__ int4 part[32];
  int sum = 0;
  for (int k = 0; k < n; k++) {
    copy16(&part[threadIdx.x], in + k * 32 + threadIdx.x);
    copies_done();
    __syncwarp();
    sum += part[threadIdx.x ^ 1].x;
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}
__global__ void __launch_bounds__(32) two_stages_of_copies(int *out, const int4 *in, int n) {
  __shared__ int4 part[2][32];
  int sum = 0;
  copy16(&part[0][threadIdx.x], in + threadIdx.x);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int k = 0; k < n; k++) {
    if (k + 1 < n) copy16(&part[(k + 1) & 1][threadIdx.x], in + (k + 1) * 32 + threadIdx.x);
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    sum += part[k & 1][threadIdx.x ^ 1].x;
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}
__global__ void __launch_bounds__(32) copy_elsewhere(int *out, const int4 *in) {
  __shared__ int4 part[32];
  __shared__ int other[32];
  other[threadIdx.x] = in[threadIdx.x].y;
  __syncwarp();
  copy16(&part[threadIdx.x], in + threadIdx.x);
  copies_done();
  out[threadIdx.x] = part[threadIdx.x].x + other[threadIdx.x ^ 1];
}

// A lane that reads and then writes.
__global__ void __launch_bounds__(32) tree(float *out, const float *in) {
  __shared__ float sum[32];
  unsigned lane = threadIdx.x;
  sum[lane] = in[lane];
  __syncwarp();
  if (lane < 16) sum[lane] += sum[lane + 16];
  __syncwarp();
  if (lane < 8) sum[lane] += sum[lane + 8];
  __syncwarp();
  if (lane == 0) out[0] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}
__global__ void __launch_bounds__(32) same_bit(int *out, int k) {
  __shared__ int flags;
  if (threadIdx.x == 0) flags = k;
  __syncwarp();
  flags |= 4;
  __syncwarp();
  out[threadIdx.x] = flags;
}
__global__ void __launch_bounds__(32) own_element(float *out, const float *in, int n) {
  __shared__ float sum[32];
  sum[threadIdx.x] = 0;
  for (int i = 0; i < n; i++) sum[threadIdx.x] += in[i * 32 + threadIdx.x];
  out[threadIdx.x] = sum[threadIdx.x];
}
__global__ void one_thread(int *count, const int *in) {
  count[0] += in[0];
  count[1] -= in[1];
}
__global__ void __launch_bounds__(32) own_pair(int *out, const int *in) {
  __shared__ int word[64];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane], word[lane + 32] = in[lane + 32];
  __syncwarp();
  int a = word[2 * lane], b = word[2 * lane + 1];
  word[2 * lane] = min(a, b), word[2 * lane + 1] = max(a, b);
  __syncwarp();
  out[lane] = word[lane] + word[lane + 32];
}
__global__ void __launch_bounds__(32) scan_with_waits(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp();
  for (int by = 1; by < 32; by *= 2) {
    int v = lane >= by ? word[lane - by] : 0;
    __syncwarp();
    word[lane] += v;
    __syncwarp();
  }
  out[lane] = word[lane];
}
__global__ void __launch_bounds__(32) butterflies_with_waits(float *out, const float *in) {
  __shared__ float word[64];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane], word[lane + 32] = in[lane + 32];
  __syncwarp();
#pragma unroll
  for (int half = 1; half < 32; half *= 2) {
    unsigned first = lane / half * 2 * half + lane % half;
    float a = word[first], b = word[first + half];
    word[first] = a - b, word[first + half] = a + b;
    __syncwarp();
  }
  out[lane] = word[lane] * word[lane + 32];
}

// Groups.
__global__ void __launch_bounds__(32) own_group(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp(0xffu << (lane & 24));
  out[lane] = word[lane ^ 4];
}
__global__ void __launch_bounds__(32) groups_then_all(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp(0xffu << (lane & 24));
  word[lane] += 1;
  __syncwarp();
  out[lane] = word[lane ^ 16];
}
__global__ void __launch_bounds__(32) wider_groups(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp(0xfu << (lane & 28));
  word[lane ^ 1] += 1;
  __syncwarp(0xffffu << (lane & 16));
  out[lane] = word[lane ^ 8];
}
__global__ void __launch_bounds__(32) half_warps(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x, half = lane & 16;
  word[lane] = in[lane];
  __syncwarp(0xffffu << half);
  int sum = word[half + ((lane + 1) & 15)];
  __syncwarp(0xffffu << half);
  word[lane] = sum;
  __syncwarp(0xffffu << half);
  out[lane] = word[half + ((lane + 3) & 15)];
}

// Branches and loops in between.
__global__ void __launch_bounds__(32) wait_on_both_paths(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  if (k == 7) {
    out[lane + 64] = 2;
    __syncwarp();
  } else {
    __syncwarp();
    out[lane + 96] = 2;
  }
  out[lane] = word[lane ^ 16];
}
__global__ void __launch_bounds__(32) one_or_the_other(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp();
  if (k > 3) word[lane] = in[lane + 32];
  if (k <= 3) out[lane] = word[lane ^ 1];
}
__global__ void __launch_bounds__(32) loop_that_waits(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  int sum = 0, i = 0;
  do {
    sum += in[i * 32 + lane];
    __syncwarp();
  } while (++i < k);
  out[lane] = word[lane ^ 1] + sum;
}
__global__ void __launch_bounds__(32) leave_early(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  if (k < 0) return;
  __syncwarp();
  out[lane] = word[lane ^ 1];
}
__global__ void __launch_bounds__(32) read_by_writers(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = 0;
  __syncwarp();
  if (lane < 8) word[lane] = in[lane];
  if (k > 9) out[lane] = lane < 8 ? word[lane] : word[lane ^ 4];
}

// Memory that all blocks share.
__global__ void out_of_place(int *out, const int *in) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + 1];
}
__global__ void own_of_stride(int *values, int n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) values[i] += 3;
}
__global__ void far_away(int *values, int n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i + n];
}
__global__ void first_block_fills(int *values, const int *in) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == 0) values[threadIdx.x] = in[threadIdx.x];
  else values[i] = in[i] * 2;
}
__global__ void rows_apart(float *values, int pitch) {
  int i = blockIdx.y * pitch + blockIdx.x * 64 + threadIdx.x;
  float v = values[i + 1];
  __syncthreads();
  values[i] = v;
}
__global__ void pairs_of_floats(float2 *values) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float *own = reinterpret_cast<float *>(values + i);
  own[0] = own[1];
}
