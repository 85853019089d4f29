// targets: sm_90 sm_120
// why: exchanges in which something stands between the accesses that orders nothing between lanes

__device__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// A fence orders what its own thread does, and waits for nobody.
__global__ void __launch_bounds__(32) fence_is_no_wait(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane] * 3;
  __threadfence_block();
  out[lane] = word[31 - lane];  //~ PTX415
}

// The wait is for copies of the own thread.
__global__ void __launch_bounds__(32) wait_for_own_copies(int *out, const int4 *in) {
  __shared__ int4 part[32];
  unsigned lane = threadIdx.x;
  copy16(&part[lane], in + lane);
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
  out[lane] = part[(lane + 1) & 31].y;  //~[!nvcc-G] PTX415
}

// The lane changes the element that another lane stores.
__global__ void __launch_bounds__(32) changed_in_place(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  word[lane ^ 3] += 5;  //~ PTX415
  __syncwarp();
  out[lane] = word[lane];
}

// Steps of a sum in place, unrolled.
__global__ void __launch_bounds__(32) halves_in_place(float *out, const float *in) {
  __shared__ float word[64];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane], word[lane + 32] = in[lane + 32];
  __syncwarp();
#pragma unroll
  for (int half = 1; half < 32; half *= 2) {
    unsigned first = lane / half * 2 * half + lane % half;
    float a = word[first], b = word[first + half];  //~ PTX415
    word[first] = a - b, word[first + half] = a + b;
  }
  __syncwarp();
  out[lane] = word[lane] * word[lane + 32];
}

// All lanes add to one place: sums are lost.
__global__ void __launch_bounds__(32) one_place(float *out, const float *in) {
  __shared__ float all;
  unsigned lane = threadIdx.x;
  if (lane == 31) all = 1;
  __syncwarp();
  all *= in[lane];  //~ PTX415
  __syncwarp();
  out[lane] = all;
}

// Groups of four wait for each other, and the read goes to another group.
__global__ void __launch_bounds__(32) another_group(int *out, const int *in) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  __syncwarp(0xfu << (lane & 28));
  out[lane] = word[lane ^ 4];  //~ PTX415
}

// A branch that all lanes take alike stands in between.
__global__ void __launch_bounds__(32) a_branch_between(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  if (k == 7) out[lane + 64] = 2;
  out[lane] = word[lane ^ 16];  //~ PTX415
}

// A loop without accesses to the array stands in between.
__global__ void __launch_bounds__(32) a_loop_between(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  int sum = 0;
  for (int i = 0; i < k; i++) sum ^= in[i * 32 + lane];
  out[lane] = word[lane ^ 8] + sum;  //~[sm_90-O3,clang-O3,G] PTX415
}

// All lanes or none of them read.
__global__ void __launch_bounds__(32) read_if(int *out, const int *in, int k) {
  __shared__ int word[32];
  unsigned lane = threadIdx.x;
  word[lane] = in[lane];
  if (k > 100) out[lane] = word[lane ^ 1];  //~ PTX415
}

// The neighbour's element, in memory that all blocks share: an index of 32 bits, and a product in it.
__global__ void shifted_down(int *values) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i + 2];  //~ PTX415
}
__global__ void row_of_pitch(float *values, int pitch) {
  int i = blockIdx.y * pitch + blockIdx.x * 64 + threadIdx.x;
  values[i] = values[i + 1];  //~ PTX415
}
