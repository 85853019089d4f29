// why: parameters that fit if added up and not as laid out (32,756 bytes, then a pointer); nvcc adds, and checks with ptxas only from sm_90 on
// targets: sm_75

struct Config {
  char bytes[32756];
};

__global__ void configure(Config config, int *out) {  //~ PTX301
  out[threadIdx.x] = config.bytes[threadIdx.x];
}

struct alignas(16) Block {
  char bytes[32752];
};

__global__ void fill(char tag, Block block, char *out) {  //~ PTX301
  out[threadIdx.x] = block.bytes[threadIdx.x] + tag;
}
