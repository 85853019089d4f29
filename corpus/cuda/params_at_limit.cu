// why: exactly 32,764 bytes, and anything over the 4,096 of old targets, is allowed from sm_70 and PTX 8.1 on

struct Most {
  int words[8191];
};

struct Page {
  int words[1024];
};

__device__ int sum;

__global__ void at_the_limit(Most most) {
  atomicAdd(&sum, most.words[threadIdx.x]);
}

__global__ void over_a_page(Page page, int *out) {
  out[threadIdx.x] = page.words[threadIdx.x];
}

struct alignas(16) Block {
  int words[8188];
};

// The pointer follows at 32,752, and nothing is added at the end to fill up to 16 bytes.
__global__ void no_tail_padding(Block block, int *out) {
  out[threadIdx.x] = block.words[threadIdx.x];
}
