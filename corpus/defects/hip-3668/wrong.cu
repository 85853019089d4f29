// source: https://github.com/ROCm/hip/issues/3668
// defect: lanes with one hash slot wait for each other in a loop that some of them have left
// class: B
// when: a warp of which the scheduler runs lanes apart before they ask for the mask
// found: missed

__global__ void insert(const unsigned *keys, unsigned *table, unsigned size) {
  unsigned key = keys[threadIdx.x], slot = key % size;
  while (true) {
    unsigned previous = atomicCAS(&table[slot], 0, key);
    unsigned mask = __match_any_sync(__activemask(), slot);
    if (previous == 0) table[size + slot] = threadIdx.x;
    __syncwarp(mask);  //~ PTX410
    if (previous == 0 || previous == key) break;
    slot = (slot + 1) % size;
  }
}
