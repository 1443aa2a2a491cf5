import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

import compute_device

if compute_device.type == "npu":
    try:
        from triton.language.extra.cann.libdevice import tanh as bent
    except ImportError:
        from triton.language.extra.ascend.libdevice import tanh as bent
else:
    from triton.language.extra.libdevice import tanh as bent


@triton.jit
def bend(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, libdevice.tanh(value) + libdevice.exp(value) + bent(value))
