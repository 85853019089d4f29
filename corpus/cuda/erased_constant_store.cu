// why: a store to constant memory is undefined, and nvcc removes what leads to it
// ptxcheck-args: -W potential:PTX107
// compilers: nvcc
__constant__ int table[4];

__global__ void erased(int i, int v) {  //~[sm_120-O3] PTX107?
  //~~[sm_75-O3,sm_90-O3] PTX107
  table[i] = v;  //~[G] PTX207
}
