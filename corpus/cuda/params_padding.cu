// why: 32,756 bytes and a pointer are 32,764 if added up and 32,768 as laid out; nvcc adds, and checks with ptxas only from sm_90 on
// targets: sm_75

struct Config {
  char bytes[32756];
};

__global__ void configure(Config config, int *out) {  //~ PTX301
  out[threadIdx.x] = config.bytes[threadIdx.x];
}
