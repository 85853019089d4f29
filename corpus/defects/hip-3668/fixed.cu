// fix: all lanes of the warp stay in the loop until all are done

__global__ void insert(const unsigned *keys, unsigned *table, unsigned size) {
  unsigned key = keys[threadIdx.x], slot = key % size;
  bool is_done = false;
  while (!__all_sync(0xffffffff, is_done)) {
    unsigned previous = is_done ? key : atomicCAS(&table[slot], 0, key);
    if (!is_done && previous == 0) table[size + slot] = threadIdx.x;
    __syncwarp();
    is_done = is_done || previous == 0 || previous == key;
    slot = (slot + 1) % size;
  }
}
