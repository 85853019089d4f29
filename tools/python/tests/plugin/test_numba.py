"""A right and a wrong kernel, compiled for a target without a GPU."""

from numba import cuda, types

SIGNATURE = (types.int32[:], types.int32[:])


def right(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def wrong(x, out):
    i = cuda.grid(1)
    out[i] = cuda.shfl_down_sync(0, x[i], 1)  # PTX407


def compiled(kernel):
    return cuda.compile(kernel, SIGNATURE, device=False, abi="numba", cc=(9, 0), lineinfo=True)


def test_right():
    assert compiled(right)


def test_wrong():
    assert compiled(wrong)
