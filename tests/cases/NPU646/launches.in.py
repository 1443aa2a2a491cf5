import triton
import triton.language as tl

from elsewhere import other

LIMIT = 64


@triton.autotune(
    configs=[triton.Config({"size": 64, "waves_per_eu": 2}), triton.Config({"size": 128})],
    key=["n"],
)
@triton.jit
def tuned(x, n, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.autotune(configs=[triton.Config({"size": 64, "kpack": 2})], key=["n"])
@triton.jit
def packed(x, n, size: tl.constexpr, kpack: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(x + at, tl.load(x + at, mask=at < n) * kpack, mask=at < n)


@triton.jit
def plain(x, n, size: tl.constexpr, kpack: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(x + at, tl.load(x + at, mask=at < n) * kpack, mask=at < n)


def run(x, n):
    tuned[(1,)](x, n)
    packed[(1,)](x, n)
    plain[(1,)](x, n, size=64, kpack=2, maxnreg=LIMIT, num_warps=4)
    plain[(1,)](
        x,
        n,
        size=64,
        kpack=2,
        waves_per_eu=2,
    )
    plain[(1,)](x, n, size=64, kpack=1, maxnreg=limit_of(x))
    plain[(1,)](x, n, size=64, kpack=1, launch_cooperative_grid=True)
    plain[(1,)](x, n, size=64, kpack=1, num_stages=2, num_ctas=1)
    other[(1,)](x, n, size=64, maxnreg=64)


def limit_of(x):
    print("asked")
    return 64


def no_launch(maxnreg):
    return dict(maxnreg=maxnreg), run(maxnreg=maxnreg, n=1)
