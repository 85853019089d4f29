// ptxcheck-args: -W potential -A conditional
// why: masks and lanes in objects that helper functions fill through a pointer
struct Info {
  unsigned lane;
  unsigned mask;
};

__device__ Info *kept;

__device__ __noinline__ void fill(Info *info) {
  info->lane = threadIdx.x % 32;
  info->mask = 0xffffffffu << (info->lane & 24) & 0xffu << (info->lane & 24);
}

__device__ __noinline__ void fill_if(Info *info, bool is_wanted) {
  if (is_wanted) info->mask = 0xffffffffu;
}

__device__ __noinline__ void fill_both(Info *first, Info *second) {
  first->mask = 0xffu;
  second->mask = 0xffffffffu;
}

__device__ __noinline__ void keep(Info *info) { kept = info; }

__device__ __noinline__ void change_kept() { kept->mask = 0xffffffffu; }

__global__ void right(int *out, const int *in) {
  Info info;
  fill(&info);
  int v = in[threadIdx.x];
  if (info.lane < 8) v += __shfl_xor_sync(info.mask, v, 1);
  out[threadIdx.x] = v;
}

__global__ void wrong(int *out, const int *in) {
  Info info;
  fill(&info);
  int v = in[threadIdx.x];
  if (info.lane < 4) v += __shfl_xor_sync(info.mask, v, 1); //~ PTX401
  out[threadIdx.x] = v;
}

__global__ void same_object(int *out, const int *in) {
  Info info;
  fill_both(&info, &info);
  out[threadIdx.x] = __shfl_xor_sync(info.mask, in[threadIdx.x], 1);
}

__global__ void other_order(int *out, const int *in) {
  Info info, other;
  fill_both(&info, &other);
  out[threadIdx.x] = __shfl_xor_sync(info.mask, in[threadIdx.x], 1); //~ PTX403
}

__global__ void under_a_condition(int *out, const int *in) {
  Info info;
  info.mask = 0xffu;
  fill_if(&info, in[blockIdx.x] > 3);
  out[threadIdx.x] = __shfl_xor_sync(info.mask, in[threadIdx.x], 1);
}

__global__ void kept_address(int *out, const int *in) {
  Info info;
  info.mask = 0xffu;
  keep(&info);
  change_kept();
  out[threadIdx.x] = __shfl_xor_sync(info.mask, in[threadIdx.x], 1);
}
