"""Kernels whose MLIR lies beside this file, as numba-cuda-mlir 0.6.0 writes it for sm_100."""
from numba_cuda_mlir import cuda
from numba_cuda_mlir.numba_cuda import types


def k_div_sync(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = 1
        cuda.syncwarp(0xffffffff)
        out[t] = out[t + 1]
    cuda.syncwarp(0xffffffff)
    out[t + 32] = t


def k_shared(out):
    s = cuda.shared.array(64, types.int32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 32:
        cuda.syncthreads()
        out[t] = s[63 - t]
    cuda.syncthreads()
    out[t + 64] = s[t ^ 1]


def k_vote(out):
    t = cuda.threadIdx.x
    out[t] = cuda.ballot_sync(0xffff, t > 3)
