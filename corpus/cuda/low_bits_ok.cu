// ptxcheck-args: -W PTX211
// why: addresses that are aligned, that may be, or whose access a test for alignment guards

__device__ __align__(16) char packets[4096];

extern "C" __global__ void whole_packets(float4 *out, int n)
{
    __shared__ __align__(16) char buffer[4096];
    buffer[threadIdx.x] = 1;
    __syncthreads();
    *out = *reinterpret_cast<float4 *>(&buffer[n * 16]);
}

extern "C" __global__ void may_be_aligned(float4 *out, int n)
{
    *out = *reinterpret_cast<float4 *>(&packets[n * 8]);
}

__device__ __forceinline__ float4 four_of(float *from)
{
    if (reinterpret_cast<unsigned long long>(from) % 16 == 0) return *reinterpret_cast<float4 *>(from);
    return make_float4(from[0], from[1], from[2], from[3]);
}

extern "C" __global__ void address_tested(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    *out = four_of(&row[n * 4 + 1]);
}

extern "C" __global__ void index_tested(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    int i = n * 4 + 1;
    if (i % 4 == 0)
        *out = *reinterpret_cast<float4 *>(&row[i]);
    else
        out->x = row[i];
}

template <int STRIDE, int START> __device__ void rows_of(float4 *out, float *row, int n)
{
    if (((n * STRIDE + START) & 3) == 0)
        *out = *reinterpret_cast<float4 *>(&row[n * STRIDE + START]);
    else
        out->x = row[n * STRIDE + START];
}

extern "C" __global__ void strides_of_templates(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    rows_of<4, 1>(out, row, n);
    rows_of<4, 4>(out + 1, row, n);
}

extern "C" __global__ void head_and_body(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    int i = n * 4 + 1;
    while (i & 3) out->x += row[i++];
    for (; i + 4 <= 1024; i += 4) {
        float4 four = *reinterpret_cast<float4 *>(&row[i]);
        out->y += four.x + four.y + four.z + four.w;
    }
}

extern "C" __global__ void one_of_two(float4 *out, int n, bool whole)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    float *from = whole ? &row[n * 4] : &row[n * 4 + 1];
    if (whole)
        *out = *reinterpret_cast<float4 *>(from);
    else
        out->x = *from;
}

// One word of the four: the access is as large as its own element.
extern "C" __global__ void words(float *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = row[n * 4 + 1] + row[n * 4 + 2];
}
