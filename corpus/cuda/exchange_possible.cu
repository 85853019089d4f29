// targets: sm_75 sm_90 sm_120
// ptxcheck-args: -W potential
// why: lanes of a warp that may read in shared memory what others write: places come from memory, or branches are not decided

__global__ void gather(int *out, const int *places) {
  __shared__ int values[64];
  unsigned t = threadIdx.x;
  values[t] = out[t];
  out[t] = values[places[t]];  //~ PTX415?
}

__global__ void queue(int *out, const int *in) {
  __shared__ int queue[64];
  __shared__ int size;
  unsigned t = threadIdx.x;
  if (t == 0) size = 0;
  __syncthreads();
  if (in[t] > 0) queue[atomicAdd(&size, 1)] = in[t];
  if (t < 32) out[t] = queue[t];  //~ PTX415?
}

__global__ void undecided(int *out, const int *in) {
  __shared__ int values[64];
  unsigned t = threadIdx.x;
  if (in[t] > 0) values[t] = in[t];
  if (t < 32) out[t] = values[t + 1];  //~ PTX415?
}

__global__ void waited_for(int *out, const int *places) {
  __shared__ int values[64];
  unsigned t = threadIdx.x;
  values[t] = out[t];
  __syncwarp();
  out[t] = values[places[t]];
  __syncwarp();
  values[places[t]] = 1;
}

// Each lane increments places of its own row.
__global__ void own_row(int *out, const int *places) {
  __shared__ int rows[32][33];
  int *row = rows[threadIdx.x];
  for (int i = 0; i < 33; i++) row[i] = 0;
  for (int i = 0; i < 8; i++) row[places[i] % 33] += 1;
  for (int i = 0; i < 33; i++) out[i * 32 + threadIdx.x] = row[i];
}
