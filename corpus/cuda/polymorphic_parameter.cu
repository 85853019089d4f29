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
struct Disc : Shape {
  int radius;
  __device__ int area() const override { return 3 * radius * radius; }
};
struct Table {
  int (*const *functions)(int);
  int count;
};

__global__ void virtual_call(Square square, int *out) {
  const Shape *shape = &square;
  *out = shape->area();  //~ PTX304?
}

__global__ void choice(Square one, Square other, int which, int *out) {
  const Shape *shape = which ? &one : &other;
  *out = shape->area();  //~ PTX304?
}

__global__ void choice_of_classes(Square square, Disc disc, int *which, int *out) {
  const Shape *shape = &square;
  if (*which) {
    shape = &disc;
    out[1] = 1;
    __syncthreads();
  }
  *out = shape->area();  //~ PTX304?
}

// Objects that the kernel makes.
__global__ void made_here(int side, int which, int *out) {
  Square square;
  square.a = square.b = side;
  Disc disc;
  disc.radius = side;
  const Shape *shape = &square;
  if (which) shape = &disc;
  *out = shape->area();
}

__global__ void table_call(Table table, int *out) { *out = table.functions[1](3); }
