import triton
import triton.language as tl


@triton.jit
def bend(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, tl.math.rsqrt(value) + tl.math.exp(value))
