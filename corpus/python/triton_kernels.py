# why: what Triton makes of ordinary kernels is clean, and inline assembly in one is found on its line
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, stride, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < count, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, values / tl.sum(values, axis=0), mask=columns < count)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def histogram(x, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < count, other=0)
    tl.device_print("value", values)
    tl.device_assert(values >= 0, "negative")
    tl.atomic_add(out + values, 1, mask=i < count)
    tl.store(out + i, tl.cumsum(values, 0))


@triton.jit
def neighbours(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i)
    below = tl.inline_asm_elementwise(  # //~ PTX407
        "shfl.sync.down.b32 $0, $1, 1, 31, 0;", "=r,r", [values], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out + i, below)


# Each with its signature and its constants.
KERNELS = [
    (softmax, {"out": "*fp32", "x": "*fp32", "stride": "i32", "count": "i32"}, {"BLOCK": 1024}),
    (
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"},
        {"BM": 64, "BN": 64, "BK": 32},
    ),
    (histogram, {"x": "*i32", "out": "*i32", "count": "i32"}, {"BLOCK": 256}),
    (neighbours, {"x": "*i32", "out": "*i32"}, {"BLOCK": 128}),
]
