// why: clang has no limit on kernel parameters, so nothing stops 40,000 bytes before the module fails to load
// compilers: clang

struct Image {
  float pixels[10000];
};

__global__ void invert(Image image, float *out) {  //~ PTX301
  out[threadIdx.x] = 1.0f - image.pixels[threadIdx.x];
}
