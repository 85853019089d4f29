// A project with findings of all kinds that a team lives with. The tests say what becomes of each.
#include "sums.cuh"

__global__ void plain(float *x)
{
	x[threadIdx.x] += __shfl_down_sync(0, x[threadIdx.x], 8); // defect: plain
}

__global__ void legacy_sum(float *x)
{
	x[threadIdx.x] += __shfl_down_sync(0, x[threadIdx.x], 4); // defect: legacy
}

__global__ void ported_sum(float *x)
{
	x[threadIdx.x] += __shfl_xor_sync(0, x[threadIdx.x], 2); // defect: ported
}

__global__ void test_pattern(float *x)
{
	// ptxcheck: allow(zero-mask) a test pattern of the hardware
	x[threadIdx.x] += __shfl_up_sync(0, x[threadIdx.x], 1); // defect: pattern
}

__global__ void calls_helper(float *x)
{
	x[threadIdx.x] = broken_sum(x[threadIdx.x]); // ptxcheck: allow(warp) the helper is mended in ticket 7
}

__global__ void calls_helper_too(float *x)
{
	x[threadIdx.x] = broken_sum(x[threadIdx.x]); // defect: helper
}

__global__ void demo_half(float *x)
{
	if (threadIdx.x % 32 < 16)
		x[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 8); // defect: demo
	x[threadIdx.x] += 1;
}
