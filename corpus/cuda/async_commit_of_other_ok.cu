// targets: sm_90 sm_120
// why: each thread that waits for groups has committed its own copies, under the same condition or another one that holds for it

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BULK_STORE(to, from, bytes)                                                                             \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
__global__ void asked_three_times(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) BULK_STORE(out, tile, 1024);
  __syncwarp();
  if (threadIdx.x == 0) BULK_COMMIT();
  __syncwarp();
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

// All threads commit: the groups of the others are empty.
__global__ void all_commit(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) BULK_STORE(out, tile, 1024);
  BULK_COMMIT();
  BULK_WAIT_READ(0);
}

// Two threads, each with a group of its own.
__global__ void two_senders(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x < 2) {
    BULK_STORE(out + threadIdx.x * 128, tile + threadIdx.x * 128, 512);
    BULK_COMMIT();
  }
  if (threadIdx.x == 1) BULK_WAIT_READ(0);
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}

__device__ __noinline__ void commit_there() { BULK_COMMIT(); }

__global__ void commit_in_a_function(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    commit_there();
    BULK_WAIT_READ(0);
  }
}

// A wait of a thread that has sent nothing.
__global__ void idle_wait(int *out, int value) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 1024);
    BULK_COMMIT();
  }
  BULK_WAIT_READ(0);
}

// The thread that commits is chosen by the caller, and is the one that has sent.
__global__ void chosen_thread(int *out, int value, int sender) {
  __shared__ alignas(128) int tile[256];
  tile[threadIdx.x] = value;
  FENCE();
  __syncthreads();
  if (threadIdx.x == 0) BULK_STORE(out, tile, 1024);
  if (threadIdx.x == sender) BULK_COMMIT();
  if (threadIdx.x == 0) BULK_WAIT_READ(0);
}
