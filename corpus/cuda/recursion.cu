// why: ptxas cannot size the stack of a kernel that reaches a recursive function

// One line on purpose: the function and its recursive call have the same position.
__device__ __noinline__ int tree_sum(const int *node) { return node[0] < 0 ? 0 : node[0] + tree_sum(node + node[1]) * tree_sum(node + node[2]); }  //~ PTX602

__global__ void sum_trees(int *out, const int *nodes) {
  out[threadIdx.x] = tree_sum(nodes + threadIdx.x);
}
