// Host code that launches kernels with constant blocks. All launches of `all` are known, of `some` one is.
#define KERNEL(name) name(int *p) { p[threadIdx.x] += __shfl_down_sync(0xffffffffu, p[threadIdx.x], 16); }

static __global__ void KERNEL(all)
__global__ void KERNEL(some)

void run_all(int *p, int n) {
  for (int i = 0; i < n; ++i) all<<<(n + 255) / 256, dim3(8, 6)>>>(p);
  all<<<1, 40>>>(p);
}
void run_some(int *p, int n) { some<<<n, 48>>>(p); }
