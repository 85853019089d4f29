// Sums over a warp, with a mask that names nobody: a defect for the tests.
#pragma once

__device__ __forceinline__ float broken_sum(float x)
{
	return x + __shfl_down_sync(0, x, 16);
}
