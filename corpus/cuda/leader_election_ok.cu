// why: one lane works for all: lane 0, the first active lane, the first lane of a mask; the others get its result
// ptxcheck-args: -W PTX401 -W potential:PTX403 -W potential:PTX404 -W potential:PTX406 -W PTX410

__device__ int lane_index() { return threadIdx.x & 31; }

__global__ void lane_zero(int *out, int *counter) {
  int ticket = 0;
  if (lane_index() == 0) ticket = atomicAdd(counter, 32);
  ticket = __shfl_sync(0xffffffffu, ticket, 0);
  out[ticket + lane_index()] = threadIdx.x;
}

__global__ void first_active(int *out, int *counter) {
  unsigned active = __activemask();
  int leader = __ffs(active) - 1;
  if (lane_index() == leader) out[atomicAdd(counter, 1)] = __popc(active);
}

__global__ void first_of_ballot(int *out, const int *in, int *counter) {
  bool wanted = in[threadIdx.x] > 0;
  unsigned takers = __ballot_sync(0xffffffffu, wanted);
  if (takers != 0) {
    int leader = __ffs(takers) - 1;
    int base = 0;
    if (lane_index() == leader) base = atomicAdd(counter, __popc(takers));
    base = __shfl_sync(0xffffffffu, base, leader);
    if (wanted) out[base + __popc(takers & ((1u << lane_index()) - 1))] = in[threadIdx.x];
  }
}
