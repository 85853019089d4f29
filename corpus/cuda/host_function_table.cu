// why: clang promotes a constexpr table of function pointers to device memory, and the host function in it stays open
// ptxcheck-args: --whole-program
// compilers: clang
// targets: sm_90 sm_120

int twice(int x);

constexpr int (*operations[2])(int) = {twice, twice};

__global__ void operate(int *out, int i) { out[0] = operations[i & 1](i); }  //~[O3] PTX105
//~~[G] PTX105
