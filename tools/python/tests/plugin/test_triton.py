"""A right and a wrong kernel, compiled for a target without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def right(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def wrong(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i)
    below = tl.inline_asm_elementwise(  # PTX407
        "shfl.sync.down.b32 $0, $1, 1, 31, 0;", "=r,r", [values], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out + i, below)


def compiled(kernel):
    source = ASTSource(fn=kernel, signature={"x": "*i32", "out": "*i32"}, constexprs={(2,): 128})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def test_right():
    assert compiled(right).asm["ptx"]


def test_wrong():
    assert compiled(wrong).asm["ptx"]


def test_wrong_once_more():
    assert compiled(wrong).asm["ptx"]
