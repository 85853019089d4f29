// why: nvcc leaves the slot of a pure virtual function 0 and names nothing of the host runtime for it
// compilers: nvcc
// nvcc-flags: -rdc=true

struct Shape {
  __device__ Shape() {}
  __device__ virtual float area() const = 0;
};

struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};

__device__ __noinline__ float area_of(const Shape &shape) { return shape.area(); }

__global__ void areas(float *out) {
  Square square(out[threadIdx.x]);
  out[threadIdx.x] = area_of(square);
}
