import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.language.extra.libdevice import tanh as bent


@triton.jit
def bend(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, libdevice.tanh(value) + libdevice.exp(value) + bent(value))
