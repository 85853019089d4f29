// why: what is wrong with a group stands on the user's line, however many functions of Cooperative Groups lead to the collective.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sync_in_a_branch(float *out, const float *in) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    if (threadIdx.x % 32 < 16) {
        tile.sync(); //~[!ir-G] PTX401
    }
    out[threadIdx.x] = in[threadIdx.x];
}

__global__ void sync_in_a_loop(float *out, const float *in) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    if (threadIdx.x % 32 < 16) {
        for (int i = 0; i < 4; ++i) {
            out[i] = in[i];
            tile.sync(); //~[!ir-G] PTX401
        }
    }
    out[threadIdx.x] = in[threadIdx.x];
}

__global__ void ballot_in_a_branch(unsigned *out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    unsigned ballot = 0;
    if (threadIdx.x % 32 < 8)
        ballot = tile.ballot(true); //~[!ir-G] PTX401
    out[threadIdx.x] = ballot;
}

__global__ void reduce_in_a_branch(int *out, const int *in) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int value = in[threadIdx.x];
    if (threadIdx.x % 32 != 31) {
        value = cg::reduce(tile, value, cg::plus<int>()); //~[!ir-G] PTX401
    }
    out[threadIdx.x] = value;
}

template <int N>
__device__ float sum_down(float value) {
    auto tile = cg::tiled_partition<N>(cg::this_thread_block());
    value += tile.shfl_down(value, 16); //~ PTX401
    return value;
}

__device__ __forceinline__ float inlined_sum(float value) {
    return sum_down<32>(value);
}

__global__ void helper_in_a_branch(float *out, const float *in) {
    float value = in[threadIdx.x];
    if (threadIdx.x % 32 < 16)
        value = inlined_sum(value);
    out[threadIdx.x] = value;
}

__global__ void block_sync_in_a_branch(float *out, const float *in) {
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x == 0)
        block.sync(); //~[!ir-G] PTX411
    out[threadIdx.x] = in[threadIdx.x];
}
