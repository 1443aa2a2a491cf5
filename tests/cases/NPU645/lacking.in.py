import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

try:
    from triton.language.extra.libdevice import tanh
except ImportError:
    tanh = None


@triton.jit
def bend(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, libdevice.popc(value) + libdevice.exp(value) + tanh(value))
