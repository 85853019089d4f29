// ptxcheck-args: -W PTX417
// why: several threads update one place in global memory without an atomic

// wrong: the nearest so far, compared and then written.
__global__ void nearest(float *best, const float *distance, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (distance[i] < *best) *best = distance[i];  //~ PTX417?
}

// wrong: a sum by all threads.
__global__ void total(double *sum, const double *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) *sum += in[i];  //~ PTX417?
}

// wrong: a histogram, whose place depends on data.
__global__ void histogram(unsigned *count, const unsigned char *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) count[in[i]]++;  //~ PTX417?
}

// wrong: each block adds its part.
__global__ void __launch_bounds__(256) parts(float *sum, const float *in, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum += part[0];  //~ PTX417?
}

// wrong: a push step of a shortest path.
__global__ void relax(int *dist, const int *first, const int *to, const int *length, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int own = dist[v];
  for (int e = first[v]; e < first[v + 1]; e++) {
    int other = to[e], next = own + length[e];
    if (next < dist[other]) dist[other] = next;  //~ PTX417?
  }
}

// wrong: one warp for each vertex, and all of its lanes add to the degree of others.
__global__ void degrees(unsigned *degree, const int *first, const int *to, int n) {
  int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (v >= n) return;
  for (int e = first[v] + threadIdx.x % 32; e < first[v + 1]; e += 32) degree[to[e]] += 1;  //~ PTX417?
}

// wrong: trees are joined by plain stores.
__global__ void join(int *parent, const int *from, const int *to, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int u = from[e], v = to[e];
  while (parent[u] != u) u = parent[u];
  while (parent[v] != v) v = parent[v];
  if (u < v) parent[v] = u;  //~ PTX417?
}

// wrong: the last element that is found, by all threads of the block.
__global__ void any_of_block(int *where, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] == 7) where[blockIdx.x] = i;  //~ PTX417?
}

// wrong: a counter in a variable of the module.
__device__ unsigned long long visited;
__global__ void visit(const int *mark, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && mark[i]) visited++;  //~ PTX417?
}

// wrong: bits of one word belong to several threads.
__global__ void set_bits(unsigned *bits, const int *item, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bits[item[i] / 32] |= 1u << item[i] % 32;  //~ PTX417?
}

// wrong: a list without an atomic counter.
__global__ void append(int *list, int *length, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) {
    int at = *length;
    list[at] = i;
    *length = at + 1;  //~ PTX417?
  }
}

// wrong: several threads have one remainder.
__global__ void remainders(float *sum, const float *in, int n, unsigned bins) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i % bins] += in[i];  //~ PTX417?
}

// wrong: one thread for each element of a row, which all add to the sum of the row.
__global__ void rows(float *sum, const float *in, unsigned n, unsigned width) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i / width] += in[i];  //~ PTX417?
}

// wrong: the blocks of one column add to one element.
__global__ void columns(float *sum, const float *in, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  float part = 0;
  for (int y = blockIdx.y; y < height; y += gridDim.y) part += in[y * width + x];
  sum[x] += part;  //~ PTX417?
}

struct Graph {
  const int *first, *to;
  float *rank, *next;
  int n;
};

// wrong: pushes parts of a rank, with the graph in one parameter.
__global__ void push(Graph g) {
  for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < g.n; v += gridDim.x * blockDim.x) {
    float part = g.rank[v] / (g.first[v + 1] - g.first[v]);
    for (int e = g.first[v]; e < g.first[v + 1]; e++) g.next[g.to[e]] += part;  //~ PTX417?
  }
}

__device__ __noinline__ void lower(int *to, int value) {
  if (value < *to) *to = value;  //~ PTX417?
}

// wrong: in a function.
__global__ void by_call(int *least, const int *key, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) lower(&least[key[i]], in[i]);
}
