// Inline assembly for shared memory gets a generic address: `__cvta_generic_to_shared` was forgotten.
__global__ void stage(float *out, const float *in) {
  __shared__ float tile[256];
  unsigned i = threadIdx.x;
  asm volatile("st.shared.f32 [%0], %1;" ::"l"(&tile[i]), "f"(in[i]) : "memory");
  __syncthreads();
  out[i] = tile[255 - i];
}
