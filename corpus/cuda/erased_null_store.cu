// why: a store through a null pointer is undefined, so nothing before it or after it is left
// compilers: nvcc
// targets: sm_75 sm_90

__global__ void lost(int n) {  //~[O3] PTX107
  int *nowhere = nullptr;
  *nowhere = n;  //~[G] PTX106
}
