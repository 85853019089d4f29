// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX713
// why: before the wait for the kernel before, data that no kernel writes is read, or none

#define GRID_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_OTHERS_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")

__global__ void weights_first(const float *weights, const float *in, float *out) {
  float weight = weights[threadIdx.x];
  GRID_WAIT();
  out[threadIdx.x] = weight * in[threadIdx.x];
  LET_OTHERS_BEGIN();
}

__global__ void all_behind(float *out, const float *in) {
  LET_OTHERS_BEGIN();
  GRID_WAIT();
  out[threadIdx.x] += in[threadIdx.x];
}

// One array in shared memory is filled before, another one read behind.
__global__ void shared_first(float *out, const float *table, const float *in) {
  __shared__ float entries[256];
  entries[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  GRID_WAIT();
  out[threadIdx.x] = entries[static_cast<int>(in[threadIdx.x]) & 255];
}

// A pointer of two: that of the table alone is used before.
struct Arguments {
  const float *table;
  float *out;
};

__global__ void in_a_struct(Arguments with) {
  float first = with.table[threadIdx.x];
  GRID_WAIT();
  with.out[threadIdx.x] = first;
}
