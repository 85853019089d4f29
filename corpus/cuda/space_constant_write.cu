// why: constant memory is written through a pointer that hides it from the compiler

__constant__ int limits[32];

__global__ void store() {
  asm volatile("st.u32 [%0], 1;" ::"l"(limits + 2) : "memory");  //~ PTX207
}

__global__ void update() {
  asm volatile("red.add.u32 [%0], 1;" ::"l"(limits) : "memory");  //~ PTX207
}

__global__ void read(int *out) {
  out[threadIdx.x] = limits[threadIdx.x & 31];
}
