// why: a virtual function that only the host has leaves an empty slot in the table that device code uses
// ptxcheck-args: -W PTX109
// targets: sm_90 sm_120

struct Base {  //~~ PTX109?
  __host__ __device__ Base() {}
  virtual int host_only(int x) { return x + 1; }
  __host__ __device__ virtual int both(int x) { return x + 2; }
};

__device__ Base *made;

__global__ void make(int *out, int i) {
  made = new Base;
  out[0] = made->both(i);
}
