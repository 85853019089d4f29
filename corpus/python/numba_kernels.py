# why: what Numba makes of ordinary kernels is clean, and a mask of 0 is found on its line
import math

import numpy as np
from numba import cuda, float32, int32, types

TABLE = np.arange(16, dtype=np.float32)


def saxpy(count, a, x, y):
    i = cuda.grid(1)
    if i < count:
        y[i] = a * x[i] + y[i]


def reduce_tiles(out, x):
    tile = cuda.shared.array(256, float32)
    own = cuda.local.array(8, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0.0
    for k in range(8):
        own[k] = tile[(t + k) % 256]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    value = tile[0] + own[t % 8]
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
    if t == 0:
        cuda.atomic.add(out, 0, math.sqrt(value))


def lookup(out, x):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[x[i] % 16]
        if cuda.laneid == 0:
            print("row", i)


def zero_mask(out, x):
    i = cuda.grid(1)
    out[i] = cuda.shfl_down_sync(0, x[i], 16)  # //~ PTX407


# Each with its signature.
KERNELS = [
    (saxpy, types.void(int32, float32, float32[::1], float32[::1])),
    (reduce_tiles, types.void(float32[::1], float32[::1])),
    (lookup, types.void(float32[:], int32[:])),
    (zero_mask, types.void(int32[:], int32[:])),
]
