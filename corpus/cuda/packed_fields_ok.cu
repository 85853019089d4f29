// why: fields of packed structures and copied bytes are not aligned, and compilers access them in parts

struct __attribute__((packed)) Record {
  char tag;
  int count;
  short port;
  double weight;
};

__device__ __align__(16) Record table[4];
__constant__ __align__(16) Record limits;
__device__ __align__(16) unsigned char message[64];

__device__ __noinline__ double weighed(Record record) {
  return record.weight * record.count;
}

__device__ __forceinline__ int word(const unsigned char *from) {
  int value;
  memcpy(&value, from, sizeof value);
  return value;
}

__global__ void fill(double *out, Record given) {
  __shared__ __align__(16) Record tile[2];
  __align__(16) Record own = given;
  own.count = table[1].count + limits.count + word(message + 5);
  own.port = static_cast<short>(threadIdx.x);
  if (threadIdx.x < 2) {
    tile[threadIdx.x].count = own.count;
    tile[1].weight = own.weight;
  }
  __syncthreads();
  table[2].count = tile[0].count + given.count;
  table[2].weight = tile[1].weight;
  out[threadIdx.x] = weighed(own) + weighed(tile[1]);
}
