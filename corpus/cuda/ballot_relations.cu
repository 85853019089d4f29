// ptxcheck-args: -W potential -A conditional
// why: a ballot says of each lane what its predicate was: used elsewhere, it leaves out lanes that call

__global__ void other_arm(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v > 1) {
    v += 1;
    out[threadIdx.x + 1024] = v;
  } else {
    v += __shfl_xor_sync(mask, v, 0); //~PTX403
  }
  out[threadIdx.x] = v;
}

__global__ void other_arm_float(float *out, const float *in) {
  float v = in[threadIdx.x];
  bool large = v > 1.0f;
  unsigned mask = __ballot_sync(0xffffffffu, large);
  if (!large) {
    __syncwarp(mask); //~PTX403
    out[threadIdx.x] = v;
  }
}

__global__ void own_arm(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v > 1) {
    v += __any_sync(mask, v);
  }
  out[threadIdx.x] = v;
}

__global__ void disjoint(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v < 0) {
    v += __any_sync(mask, v); //~PTX403
  }
  out[threadIdx.x] = v;
}

__global__ void wider(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 2);
  if (v > 1) {
    v += __any_sync(mask, v); //~PTX403?
  }
  out[threadIdx.x] = v;
}

__global__ void narrower(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v > 2) {
    v += __any_sync(mask, v); //~PTX402?
  }
  out[threadIdx.x] = v;
}

__global__ void same(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v >= 2) {
    v += __any_sync(mask, v);
  }
  out[threadIdx.x] = v;
}

__global__ void unrelated(int *out, const int *in) {
  int v = in[threadIdx.x], w = in[threadIdx.x + 1024];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (w > 2) {
    v += __any_sync(mask, v);
  }
  out[threadIdx.x] = v;
}

__global__ void without_itself(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v > 1) {
    v += __any_sync(mask & ~(1u << (threadIdx.x & 31)), v); //~ PTX403
  }
  out[threadIdx.x] = v;
}

__global__ void negated(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v <= 1) {
    v += __any_sync(~mask, v);
  }
  out[threadIdx.x] = v;
}

__global__ void negated_wrong(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (v > 1) {
    v += __any_sync(~mask, v); //~PTX403
  }
  out[threadIdx.x] = v;
}

__global__ void in_a_loop(int *out, const int *in, int n) {
  for (int i = threadIdx.x; i < n * (int)blockDim.x; i += blockDim.x) {
    int v = in[i];
    unsigned mask = __ballot_sync(0xffffffffu, v > 1);
    if (v > 1) {
      out[i + 4096] = v;
    } else {
      v += __any_sync(mask, v); //~PTX403
    }
    out[i] = v;
  }
}

__global__ void of_the_round_before(int *out, const int *in, int n) {
  unsigned mask = 0xffffffffu;
  for (int i = threadIdx.x; i < n * (int)blockDim.x; i += blockDim.x) {
    int v = in[i];
    if (v <= 1) {
      v += __any_sync(mask, v);
    }
    mask = __ballot_sync(0xffffffffu, v > 1);
    out[i] = v;
  }
}

__global__ void guarded_after(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (mask >> (threadIdx.x & 31) & 1) {
    v += __any_sync(mask, v);
  }
  out[threadIdx.x] = v;
}

__global__ void guarded_after_wrong(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1);
  if (!(mask >> (threadIdx.x & 31) & 1)) {
    v += __any_sync(mask, v); //~ PTX403
  }
  out[threadIdx.x] = v;
}

__global__ void both(int *out, const int *in) {
  int v = in[threadIdx.x];
  unsigned mask = __ballot_sync(0xffffffffu, v > 1 && v < 10);
  if (v > 20) {
    v += __any_sync(mask, v); //~[O3] PTX403
  }
  out[threadIdx.x] = v;
}
