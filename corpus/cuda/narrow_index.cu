// why: indexes that are computed in 32 bits and wrap from some size on, as public reports have them; no finding, but `ptxcheck capacity`
// shows them (tests/tests/program/capacity.rs)

#include <cstdint>
#include <cuda_pipeline.h>

// A row number from memory times the columns of a table (onnxruntime#28107): from row 239,674 on.
__global__ void gather_rows(float *out, const float *table, const int64_t *rows, int64_t count) {
  int64_t id = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (id >= count) return;
  int index = (int)(rows[id / 8960] * 8960 + id % 8960);
  out[id] = table[index];
}

// The number of a token times a stride (vllm#53390): for a stride of 34,816 from token 61,681 on.
__global__ void gated_rows(float *out, const float *in, int hidden, int group) {
  const int token = blockIdx.x;
  const int stride = hidden * 2;
  const float *gate = in + token * stride + blockIdx.y * group;
  const float *up = gate + hidden;
  float *to = out + (int64_t)token * hidden + blockIdx.y * group;
  to[threadIdx.x] = gate[threadIdx.x] * up[threadIdx.x];
}

// Unsigned products wrap later (vllm#42862): for 4,096 columns from row 1,048,576 on.
__global__ void scaled_rows(float *out, const float *in, int hidden) {
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    out[blockIdx.x * hidden + i] = in[blockIdx.x * hidden + i] * 2;
}

// All offsets in 32 bits, with a test of the row (vllm#57831): from 209,716 rows on.
__global__ void masked_rows(float *out, const float *in, int rows, int first) {
  int row = first + blockIdx.x;
  if (row >= rows) return;
#pragma unroll 1
  for (int column = threadIdx.x; column < 10240; column += blockDim.x) out[row * 10240 + column] = in[threadIdx.x];
}

// The source of an asynchronous copy (llama.cpp#23610).
__global__ void copied_mask(float *out, const float *mask, int stride, int rows) {
  __shared__ float tile[8][32];
  int row = blockIdx.x * 8 + threadIdx.y;
  __pipeline_memcpy_async(&tile[threadIdx.y][threadIdx.x], mask + row * stride + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (row < rows) out[(int64_t)row * 32 + threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}

// Bytes that are counted in 32 bits: a quarter of the elements fit.
__global__ void byte_offsets(char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) *(float *)(out + 4 * i) = 0;
}
