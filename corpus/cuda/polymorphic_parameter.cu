// why: a virtual call on an object that a kernel takes by value goes through the host's table
// ptxcheck-args: -W PTX304
// compilers: nvcc
struct Shape {
  int a;
  __device__ virtual int area() const { return a; }
};
struct Square : Shape {
  int b;
  __device__ int area() const override { return a * b; }
};
struct Table {
  int (*const *functions)(int);
  int count;
};

__global__ void virtual_call(Square square, int *out) {
  const Shape *shape = &square;
  *out = shape->area();  //~[O3] PTX304?
}

__global__ void table_call(Table table, int *out) { *out = table.functions[1](3); }
