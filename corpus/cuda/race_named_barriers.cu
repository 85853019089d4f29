// targets: sm_120
// why: named barriers that do not cover those that share a place, or that order them the wrong way round

__device__ void sync(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
__device__ void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }

// wrong: warp 0 does not wait until the readers have left the buffer.
__global__ void __launch_bounds__(128) full_only(float *out, const float *in, int rounds) {
  __shared__ float buffer[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    for (int k = 0; k < rounds; k++) {
      buffer[lane] = in[k * 32 + lane];  //~[!nvcc-O3] PTX416
      sync(1, 128);
    }
  } else {
    float sum = 0;
    for (int k = 0; k < rounds; k++) {
      sync(1, 128);
      sum += buffer[31 - lane];
    }
    out[threadIdx.x - 32] = sum;
  }
}

// wrong: the readers only arrive, so nobody makes them wait.
__global__ void __launch_bounds__(64) readers_arrive(float *out, const float *in) {
  __shared__ float buffer[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    buffer[lane] = in[lane];  //~[ir] PTX416
    sync(1, 64);
  } else {
    arrive(1, 64);
    out[lane] = buffer[31 - lane];  //~[!ir] PTX416
  }
}

// wrong: the writers arrive first and write then.
__global__ void __launch_bounds__(64) arrives_too_early(float *out, const float *in) {
  __shared__ float buffer[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    arrive(1, 64);
    buffer[lane] = in[lane];
  } else {
    sync(1, 64);
    out[lane] = buffer[31 - lane];  //~[!ir] PTX416
  }
}

// wrong: groups of 64 meet at a barrier that counts 32, so each warp passes alone.
__global__ void __launch_bounds__(256) count_of_a_warp(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t];
  sync(1 + group, 32);
  out[t] = s[t ^ 63];  //~ PTX416
}

// wrong: a group meets with itself and reads what another group has written.
__global__ void __launch_bounds__(256) other_group(int *out, const int *in) {
  __shared__ int s[256];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t];
  sync(1 + group, 64);
  out[t] = s[t ^ 64];  //~ PTX416
}

// wrong: only the first two warps meet, and the third one reads, too.
__global__ void __launch_bounds__(96) third_warp_reads(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  out[t] = s[63 - (t & 31)];  // not found: nothing shows that blocks have a third warp
}

// wrong: writers and readers wait at barriers of different numbers.
__global__ void __launch_bounds__(128) different_numbers(int *out, const int *in) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = in[t];  //~[ir] PTX416
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = s[127 - t];  //~[!ir] PTX416
  }
}
