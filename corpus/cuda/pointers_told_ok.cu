// why: a function is told beside its pointer what that is, or that it is none, and each call tells it right
#define N __device__ __noinline__
#define K __global__ void
__device__ int table[64];
__constant__ int constants[64];
__device__ int switched_on;
__device__ unsigned char role[2];

__device__ __forceinline__ unsigned in_window(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ int load_shared(unsigned at) {
  int value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
  return value;
}

__device__ __forceinline__ int load_global(const void *p) {
  int value;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(p)));
  return value;
}

#define TILE \
  __shared__ int tile[64]; \
  tile[threadIdx.x & 63] = 1; \
  __syncthreads();

enum Kind : unsigned char { GLOBAL, SHARED };
struct Ref { const int *p; Kind kind; };
struct Bits { unsigned is_shared : 1, size : 31; };
struct View { const int *data; int count; };

// Spaces.
N int by_bit(const int *p, int flags) { return flags & 4 ? load_shared(in_window(p)) : load_global(p); }
K bit(int *out) { TILE out[0] = by_bit(tile, 5) + by_bit(table, 3); }

N int by_order(const int *p, int kind) {
  if (kind >= 2) return load_shared(in_window(p));
  return load_global(p);
}
K order(int *out) { TILE out[0] = by_order(tile, 2) + by_order(table, 1); }

N int by_two(const int *p, bool is_shared, bool is_wanted) {
  if (!is_wanted) return 0;
  if (is_shared) return load_shared(in_window(p));
  return load_global(p);
}
K two(int *out) { TILE out[0] = by_two(tile, true, true) + by_two(table, false, true) + by_two(table, true, false); }

N int inner(const int *p, int flags) { return by_bit(p, flags >> 1); }
K through_a_call(int *out) { TILE out[0] = inner(tile, 8) + inner(table, 7); }

N int by_ref(Ref ref) { return ref.kind == SHARED ? load_shared(in_window(ref.p)) : load_global(ref.p); }
K structure(int *out) { TILE out[0] = by_ref(Ref{tile, SHARED}) + by_ref(Ref{table, GLOBAL}); }

N int by_reference(const Ref &ref) { return ref.kind == SHARED ? load_shared(in_window(ref.p)) : load_global(ref.p); }
K reference(int *out) { TILE out[0] = by_reference(Ref{tile, SHARED}) + by_reference(Ref{table, GLOBAL}); }

N int by_field(const int *p, Bits bits) { return bits.is_shared ? load_shared(in_window(p)) : load_global(p); }
K bit_field(int *out) { TILE out[0] = by_field(tile, Bits{1, 64}) + by_field(table, Bits{0, 64}); }

N int by_tag(unsigned long long tagged) {
  const int *p = (const int *)(tagged & ~3ull);
  return tagged & 2 ? load_shared(in_window(p)) : load_global(p);
}
K tag(int *out) { TILE out[0] = by_tag((unsigned long long)tile | 2) + by_tag((unsigned long long)table); }

N int by_switch(const int *p, int kind) {
  switch (kind) {
    case 0: return load_global(p);
    case 1: return load_shared(in_window(p));
    case 2: return *p + 2;
    case 3: return *p * 3;
    case 4: return *p - 7;
    case 5: return *p / 5;
    case 6: return *p % 7;
    default: return 0;
  }
}
K jump_table(int *out) { TILE out[0] = by_switch(tile, 1) + by_switch(table, 0) + by_switch(constants, 2); }

N int by_role(const int *p, int which) { return role[which] ? load_shared(in_window(p)) : load_global(p); }
K role_in_memory(int *out) { TILE role[0] = 1; int sum = by_role(tile, 0); role[0] = 0; out[0] = sum + by_role(table, 0); }

N int by_host(const int *p, const bool *told) { return *told ? load_shared(in_window(p)) : load_global(p); }
K told_by_the_host(int *out, const bool *roles) { TILE out[0] = by_host(tile, roles) + by_host(table, roles + 1); }

N int by_argument(const int *p, int kind) { return kind == 3 ? load_shared(in_window(p)) : load_global(p); }
K argument_of_the_kernel(int *out, int kind) {
  TILE
  out[0] = kind == 3 ? by_argument(tile, kind) : by_argument(table, kind);
}

N int by_width(unsigned long long at, int bits) { return bits < 64 ? load_shared((unsigned)at) : *(const int *)at; }
K width(int *out) { TILE out[0] = by_width((unsigned long long)tile, 64) + by_width(in_window(tile), 32); }

N void write_if(int *p, unsigned rights) {
  if (rights & 2) *p = 7;
  if (rights & 1) switched_on += *p;
}
K read_only(int *out) { write_if(out, 3); write_if(const_cast<int *>(constants), 1); }

N int count_up(int *counter, int others) { return others > 0 ? atomicAdd(counter, 1) : (*counter)++; }
K own_counter(int *out) { int own = 0; out[0] = count_up(&own, 0) + count_up(out, 1) + own; }

// Null.
N int first(const int *p, int n) { return n > 0 ? p[0] : -1; }
K nothing(int *out) { out[0] = first(nullptr, 0) + first(table, 4); }

N int last(const int *begin, const int *end) { return begin == end ? 0 : end[-1]; }
K empty_range(int *out) { out[0] = last(nullptr, nullptr) + last(table, table + 4); }

N int sum(const int *p, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += p[i];
  return total;
}
K no_round(int *out) { out[0] = sum(nullptr, 0) + sum(table, 3); }

N int sum_backwards(const int *p, int n) {
  int total = 0;
  while (n-- > 0) total += p[n];
  return total;
}
K no_round_backwards(int *out) { out[0] = sum_backwards(nullptr, 0) + sum_backwards(table, 3); }

N int optional(const int *p, bool has) { return has ? *p : 7; }
K absent(int *out) { out[0] = optional(nullptr, false) + optional(table, true); }

N void outputs(int *a, int *b, int which) {
  if (which & 1) a[0] = 1;
  if (which & 2) b[0] = 2;
}
K one_output(int *out) { outputs(out, nullptr, 1); outputs(nullptr, out, 2); }

N int front(View view) { return view.count > 0 ? *view.data : 3; }
K empty_view(int *out) { out[0] = front(View{nullptr, 0}) + front(View{table, 4}); }

N View none() { return View{nullptr, 0}; }
K returned_view(int *out) {
  View view = none();
  if (view.count > 0) out[0] = view.data[0];
}

N const int *find(bool *found) { *found = false; return nullptr; }
K not_found(int *out) {
  bool found;
  const int *p = find(&found);
  if (found) out[0] = *p;
}

N void statistic(int *counter) { if (switched_on) atomicAdd(counter, 1); }
K switched_off(int *out) { statistic(nullptr); out[0] = 1; }

typedef int (*Function)(int);
N int plus_one(int x) { return x + 1; }
N int repeat(Function f, int x, int times) {
  for (int k = 0; k < times; k++) x = f(x);
  return x;
}
K no_callback(int *out) { out[0] = repeat(nullptr, 1, 0) + repeat(plus_one, 1, 2); }

N int call_if(Function f, unsigned flags, int x) { return flags & 8 ? f(x) : x; }
K callback_off(int *out) { out[0] = call_if(nullptr, 7, 1) + call_if(plus_one, 8, 1); }

K workspace_if_asked(int *out, int n) {
  const int *bias = nullptr;
  int value = 0;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.u32 %0, [%1]; }" : "+r"(value) : "l"(bias), "r"(n));
  out[0] = value;
}

// The cast comes before what decides; its result is used behind that alone.
N int cast_first(const int *p, bool is_shared) {
  unsigned at = in_window(p);
  return is_shared ? load_shared(at) : *p;
}
K casts_first(int *out, const int *in) {
  TILE
  out[0] = cast_first(tile, true) + cast_first(table, false) + cast_first(in, false);
}

N void store_to(int *to, unsigned at, bool is_shared, int value) {
  if (is_shared) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(value));
  else *to = value;
}
K caller_casts(int *out) {
  TILE
  store_to(tile, in_window(tile), true, 1);
  store_to(out, in_window(out), false, 2);
  store_to(table, in_window(table), false, 3);
}

struct Target {
  int *p;
  unsigned at;
  bool is_shared;
  __device__ __forceinline__ Target(int *p, bool is_shared) : p(p), at(in_window(p)), is_shared(is_shared) {}
};
N void store_through(const Target &target, int value) { store_to(target.p, target.at, target.is_shared, value); }
K constructor_casts(int *out) {
  TILE
  store_through(Target(tile, true), 1);
  store_through(Target(table, false), 2);
  out[1] = tile[0];
}

K cast_before_a_loop(int *out, const int *in, int rounds) {
  TILE
  unsigned at = in_window(in);
  for (int i = 0; i < rounds; ++i) out[i] = __isShared(in) ? load_shared(at + 4 * i) : in[i];
}

// Tests of the round before.
K previous_pointer(int *out, const int *const *list, int n) {
  const int *previous;
  int sum = 0;
  for (int i = 0; i < n; i++) {
    const int *current = list[i];
    if (i > 0)
      if (__isShared(previous)) sum += load_global(current);
    previous = current;
  }
  out[0] = sum;
}

K previous_answer(int *out, const int *const *list, int n) {
  int was_shared;
  int sum = 0;
  for (int i = 0; i < n; i++) {
    const int *current = list[i];
    if (i > 0) {
      if (was_shared) sum += load_global(current);
      else sum += *current;
    }
    was_shared = __isShared(current);
  }
  out[0] = sum;
}

K first_of_two(int *out, const int *const *list, int n) {
  const int *kept = list[0];
  int sum = 0;
  for (int i = 1; i < n; i++) {
    bool is_shared = __isShared(kept);
    kept = list[i];
    if (is_shared) sum += load_global(kept);
  }
  out[0] = sum;
}

// Distances between windows, and spaces found by comparison.
__device__ long long distance;
K relative_in_elements(int *out) {
  TILE
  distance = (long long)((unsigned long long)(tile + 3) - (unsigned long long)table) >> 2;
  __syncthreads();
  unsigned long long at = (unsigned long long)table + ((unsigned long long)*(volatile long long *)&distance << 2);
  out[0] = load_shared(in_window((const int *)at));
}

K relative_in_shared_memory(int *out) {
  TILE
  __shared__ long long off;
  off = (long long)((unsigned long long)table - (unsigned long long)tile) / 4;
  __syncthreads();
  unsigned long long at = (unsigned long long)tile + (unsigned long long)off * 4;
  out[0] = load_global((const int *)at);
}

N int same(const int *p, const int *other) { return p == other ? load_shared(in_window(p)) : *p; }
K equal(int *out) { TILE out[0] = same(tile, tile) + same(table, tile); }

N int near(const int *p, const int *start) {
  return (unsigned long long)p - (unsigned long long)start < 256 ? load_shared(in_window(p)) : load_global(p);
}
K in_range(int *out) { TILE out[0] = near(tile + 3, tile) + near(table, tile); }

N int between(const int *p, const int *start, const int *end) {
  if (p >= start && p < end) return load_shared(in_window(p));
  return load_global(p);
}
K in_bounds(int *out) { TILE out[0] = between(tile + 3, tile, tile + 64) + between(table, tile, tile + 64); }

// An address that the host has reserved, above 4 GiB.
K fixed_address(int *out) {
  unsigned base = 0xffffffffu;
  const int *p = (const int *)((unsigned long long)base + 5);
  out[0] = *p;
}
