import triton
import triton.language as tl


@triton.jit
def dots_of(a, b, c, size: tl.constexpr, allow_tf32: tl.constexpr):
    at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    one = tl.dot(x, y, allow_tf32=False)
    two = tl.dot(x, y, out_dtype=tl.float32)
    three = tl.dot(
        x,
        y,
    )
    four = tl.dot(x, y, input_precision="ieee") + tl.dot(x, y, allow_tf32=allow_tf32)
    tl.store(c + at, one + two + three + four)
