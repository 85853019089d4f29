// why: a kernel launches another
// ptxcheck-args: -W PTX603
// compilers: nvcc
// nvcc-flags: -rdc=true
__global__ void child(int *p) { *p = 1; }
__global__ void parent(int *p) {
  child<<<1, 1>>>(p);  //~ PTX603
}
