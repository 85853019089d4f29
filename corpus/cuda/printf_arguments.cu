// why: a 33rd argument of printf, which the device drops
#include <cstdio>

__global__ void many(const int *p) {
  printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n",  //~ PTX604
         p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17],
         p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30], p[31], p[32]);
}

__global__ void few(const int *p) { printf("%d %f %d\n", p[0], 1.0 * p[1], p[2]); }
