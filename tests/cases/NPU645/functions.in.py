import triton
import triton.language as tl
from triton.language.extra.cuda.libdevice import rsqrt, fast_expf as fast


@triton.jit
def bend(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, rsqrt(value) + fast(value))
