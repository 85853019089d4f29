// why: clang compiles dynamic_cast for the device, and it refers to the host's run-time type information
// compilers: clang
// targets: sm_90 sm_120

struct Base {
  __host__ __device__ virtual int value() { return 1; }
};
struct Derived : Base {
  __host__ __device__ int value() override { return 2; }
};

__device__ Base *object;

__global__ void cast(int *out) {
  out[0] = dynamic_cast<Derived *>(object) != nullptr;  //~ PTX108
}
