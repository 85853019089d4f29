// why: the last bits of an address are known whatever the index is, and wrong for the size of the access; clang
// sees so itself, and takes apart what is not written as PTX

__device__ float sink[1024];
__device__ __align__(16) char packets[4096];

extern "C" __global__ void bytes_past_a_packet(float4 *out, int n)
{
    __shared__ __align__(16) char buffer[4096];
    buffer[threadIdx.x] = 1;
    __syncthreads();
    *out = *reinterpret_cast<float4 *>(&buffer[n * 16 + 8]); //~[nvcc] PTX211
}

extern "C" __global__ void in_global_memory(float4 *out, int n)
{
    *out = *reinterpret_cast<float4 *>(&packets[n * 16 + 4]); //~[nvcc] PTX211
}

extern "C" __global__ void in_a_loop(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    float4 sum = {};
    for (int i = threadIdx.x * 4 + 2; i < n; i += 128) {
        float4 four = *reinterpret_cast<float4 *>(&row[i]); //~[nvcc] PTX211
        sum.x += four.x;
        sum.y += four.y;
        sum.z += four.z;
        sum.w += four.w;
    }
    *out = sum;
}

extern "C" __global__ void behind_another_test(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    if (n > 3)
        *out = *reinterpret_cast<float4 *>(&row[(n << 3) | 1]); //~[nvcc] PTX211
}

extern "C" __global__ void half_a_number(double number, int n)
{
    __shared__ __align__(16) float row[1024];
    *reinterpret_cast<double *>(&row[n * 2 + 1]) = number; //~[nvcc] PTX211
    __syncthreads();
    sink[threadIdx.x] = row[threadIdx.x];
}

extern "C" __global__ void one_of_two_rows(float4 *out, int n, bool second)
{
    __shared__ __align__(16) float rows[2][1028];
    rows[0][threadIdx.x] = rows[1][threadIdx.x] = 1;
    __syncthreads();
    int start = second ? 1028 + n * 4 : n * 4;
    *out = *reinterpret_cast<float4 *>(&rows[0][start + 1]); //~[nvcc] PTX211
}

extern "C" __global__ void rounded_down(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    unsigned at = (threadIdx.x * 12 + n) & ~15u;
    *out = *reinterpret_cast<float4 *>(reinterpret_cast<char *>(row) + at + 12); //~[nvcc] PTX211
}

extern "C" __global__ void written_as_ptx(float4 *out, int n)
{
    __shared__ __align__(16) float row[1024];
    row[threadIdx.x] = 1;
    __syncthreads();
    float4 four;
    asm volatile("ld.v4.f32 {%0, %1, %2, %3}, [%4];" //~ PTX211
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "l"(&row[n * 4 + 2]));
    *out = four;
}
