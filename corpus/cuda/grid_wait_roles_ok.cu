// targets: sm_90 sm_120
// ptxcheck-args: -W potential:PTX713
// why: the wait for the kernel before in arms, roles, rounds and functions, after constants, weights and tables were read

#include <cuda_runtime.h>

#define GRID_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_OTHERS_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(bytes) : "memory")
#define COPY(to, from, bytes, bar)                                                                              \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)),                                                                                 \
               "l"(from), "r"(bytes), "r"(SHARED(bar))                                                          \
               : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")

__constant__ float coefficients[64];
__device__ float table[256];
__device__ __noinline__ void wait_called() { GRID_WAIT(); }
__device__ __noinline__ float read_called(const float *p) { return p[threadIdx.x]; }

// Read before: what no kernel writes.
__global__ void constant_memory(float *out, const float *in) {
  float factor = coefficients[threadIdx.x & 63];
  GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] * factor + coefficients[1];
}

__global__ void read_only_loads(float *out, const float *__restrict__ weights, const float *in) {
  float factor = __ldg(weights + threadIdx.x);
  GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] * factor;
}

__global__ void rows_of_weights(float *out, const float4 *weights, const float4 *in) {
  float4 row[4];
#pragma unroll
  for (int i = 0; i < 4; i++) row[i] = weights[threadIdx.x + 256 * i];
  GRID_WAIT();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) sum += row[i].x * in[i].x + row[i].y * in[i].y + row[i].z * in[i].z + row[i].w * in[i].w;
  out[threadIdx.x] = sum;
}

__global__ void table_of_the_module(float *out, const float *in) {
  float entry = table[threadIdx.x];
  GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] + entry + table[255 - threadIdx.x];
}

// Copies of weights that are under way during the wait.
__global__ void copied_in_groups(float *out, const float *weights, const float *in) {
  __shared__ alignas(16) float s[1024];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;" ::"r"(SHARED(&s[4 * threadIdx.x])),
               "l"(weights + 4 * threadIdx.x)
               : "memory");
  GRID_WAIT();
  float value = in[threadIdx.x];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  out[threadIdx.x] = s[4 * threadIdx.x] * value;
}

__global__ void copied_in_bulk(float *out, const float *weights, const float *in) {
  __shared__ alignas(128) float s[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 1024);
    COPY(s, weights, 1024, &full);
  }
  GRID_WAIT();
  float value = in[threadIdx.x];
  WAIT(&full, 0);
  out[threadIdx.x] = s[threadIdx.x] * value;
}

__global__ void prefetched(float *out, const float *weights, const float *in) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(weights + 32 * threadIdx.x));
  GRID_WAIT();
  out[threadIdx.x] = weights[threadIdx.x] * in[threadIdx.x];
}

// The wait in an arm, by a parameter.
__global__ void if_asked_for(float *out, const float *weights, const float *in, bool depends) {
  float factor = weights[threadIdx.x];
  if (depends) GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] * factor;
}

// In a function.
__global__ void in_a_function(float *out, const float *weights, const float *in) {
  float factor = weights[threadIdx.x];
  wait_called();
  out[threadIdx.x] = in[threadIdx.x] * factor;
}

__global__ void functions_read(float *out, const float *weights, const float *in) {
  float factor = read_called(weights);
  GRID_WAIT();
  out[threadIdx.x] = read_called(in) * factor;
}

// One role waits, and hands over what it has read.
__global__ void role_of_a_warp(float *out, const float *weights, const float *in) {
  __shared__ float s[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    GRID_WAIT();
    s[lane] = in[lane];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else if (warp == 1) {
    float factor = weights[lane];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    GRID_WAIT();
    out[lane] = s[lane] * factor;
  }
}

// A thread without work ends before.
__global__ void ends_early(float *out, const float *weights, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float factor = weights[i];
  GRID_WAIT();
  out[i] = in[i] * factor;
}

// Twice, which does nothing.
__global__ void waits_twice(float *out, const float *weights, const float *in) {
  float factor = weights[threadIdx.x];
  GRID_WAIT();
  float value = in[threadIdx.x];
  GRID_WAIT();
  out[threadIdx.x] = value * factor;
}

// In the first round of a loop over tiles.
__global__ void in_the_first_round(float *out, const float *in, int tiles) {
  for (int i = 0; i < tiles; i++) {
    if (i == 0) GRID_WAIT();
    out[threadIdx.x + 256 * i] = in[threadIdx.x + 256 * i];
  }
}

__global__ void in_each_round(float *out, const float *in, int tiles) {
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
    GRID_WAIT();
    out[threadIdx.x + 256 * i] = in[threadIdx.x + 256 * i] + 1;
  }
}

// The last act: what it writes may be read by others still.
__global__ void writes_behind(float *out, const float *weights, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += weights[threadIdx.x + 256 * i];
  GRID_WAIT();
  out[threadIdx.x] = sum;
  LET_OTHERS_BEGIN();
}

// One arm needs nothing of other kernels.
__global__ void arm_without(float *out, const float *in, bool alone) {
  if (alone) {
    out[threadIdx.x] = in[threadIdx.x];
    return;
  }
  GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] + 1;
}

// Without a wait.
__global__ void lets_others_begin(float *out, const float *in) {
  float value = in[threadIdx.x];
  LET_OTHERS_BEGIN();
  out[threadIdx.x] = value;
}

// Parts of one parameter: only those of weights are used before.
struct Layer {
  const float *weights, *bias;
  const float *in;
  float *out;
  int rows;
};

__global__ void parts_of_a_layer(Layer layer) {
  float factor = layer.weights[threadIdx.x], bias = layer.bias[threadIdx.x];
  GRID_WAIT();
  if (threadIdx.x < layer.rows) layer.out[threadIdx.x] = layer.in[threadIdx.x] * factor + bias;
}

struct Many {
  const float *in[4];
  float *out;
};

__global__ void elements_of_an_array(Many with) {
  float factor = with.in[0][threadIdx.x] + with.in[1][threadIdx.x];
  GRID_WAIT();
  with.out[threadIdx.x] = with.in[2][threadIdx.x] * factor + with.in[3][threadIdx.x];
}

// Addresses in a table that the host has written.
__global__ void table_of_addresses(float *const *rows, const float *in) {
  float *row = rows[blockIdx.x];
  GRID_WAIT();
  row[threadIdx.x] = in[threadIdx.x];
}

// Sizes are read before, the rows that they describe behind.
__global__ void sizes_first(const int *sizes, const float *in, float *out) {
  int first = sizes[blockIdx.x], end = sizes[blockIdx.x + 1];
  GRID_WAIT();
  for (int i = first + threadIdx.x; i < end; i += blockDim.x) out[i] = in[i] * 2;
}

// Memory of the thread itself.
__global__ void in_local_memory(float *out, const float *in, int n) {
  float kept[16];
  for (int i = 0; i < 16; i++) kept[i] = static_cast<float>(i * n);
  GRID_WAIT();
  out[threadIdx.x] = kept[static_cast<int>(in[threadIdx.x]) & 15];
}

// Atomics on a counter that is cleared by the host.
__global__ void counter_behind(unsigned *counter, float *out, const float *weights) {
  float factor = weights[threadIdx.x];
  GRID_WAIT();
  unsigned at = atomicAdd(counter, 1);
  out[at] = factor;
}

// The functions of the runtime.
__global__ void of_the_runtime(float *out, const float *weights, const float *in) {
  float factor = weights[threadIdx.x];
  cudaGridDependencySynchronize();
  float value = in[threadIdx.x];
  cudaTriggerProgrammaticLaunchCompletion();
  out[threadIdx.x] = value * factor;
}

// A template decides whether there is a wait.
template <bool depends>
__device__ void scaled(float *out, const float *weights, const float *in) {
  float factor = weights[threadIdx.x];
  if constexpr (depends) GRID_WAIT();
  out[threadIdx.x] = in[threadIdx.x] * factor;
}
__global__ void scaled_behind(float *out, const float *weights, const float *in) { scaled<true>(out, weights, in); }
__global__ void scaled_at_once(float *out, const float *weights, const float *in) { scaled<false>(out, weights, in); }
