// Code of somebody else, whose defects are warnings here.
__global__ void vendor(float *x)
{
	x[threadIdx.x] += __shfl_down_sync(0, x[threadIdx.x], 8); // defect: vendor
}
