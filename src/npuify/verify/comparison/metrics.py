"""How far two tensors lie apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.knowledge import tolerances

from .values import numpy

if TYPE_CHECKING:
    from .model import Tensor

_COARSENESS = ("float64", "float32", "hf32", "float16", "bfloat16")
_SPACING = {"float64": 2.0**-52, "float32": 2.0**-23, "hf32": 2.0**-11, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The step from 1 to the next number. hf32 and TF32 keep eleven and ten bits."""
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
_BITS = {"float32": ("<i4", 31), "float16": ("<i2", 15)}
_SMALLEST_JUDGED = 1e-30
_LOW = -1e4
"""What a mask adds to be rid of a value is lower than this."""
_ERRORS = (
    "max_absolute_error",
    "max_relative_error",
    "mean_relative_error",
    "share_over_thousandth",
    "share_over_hundredth",
    "mean_ulp",
    "ulp_share",
)


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """One pair. Errors are those of B against A; None where it cannot be told."""

    dtype: str
    """The coarser type of both, by which it is judged."""
    dtypes: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    norm_error: float
    """|B - A| / |A|; where there are no values: at least so much, from what statistics show."""
    host: bool = False
    """Whether a CPU computed both sides."""
    exact: bool = False
    """Every kept value is the same."""
    sampled: bool = True
    """Whether values were compared, not only statistics."""
    cosine: float | None = None
    max_absolute_error: float | None = None
    max_relative_error: float | None = None
    mean_relative_error: float | None = None
    share_over_thousandth: float | None = None
    share_over_hundredth: float | None = None
    mean_ulp: float | None = None
    ulp_share: float | None = None
    ratio: float | None = None
    """B is this many times A, where that explains nearly all of the difference."""
    norms: tuple[float, float] = (0.0, 0.0)
    largest: tuple[float, float] = (0.0, 0.0)
    nan: tuple[int, int] = (0, 0)
    inf: tuple[int, int] = (0, 0)
    problem: str = ""
    """``shape``, ``overflow``, ``nan``, ``whole numbers``, ``complement``; empty where only numbers differ."""


def coarser(*dtypes: str) -> str:
    """The coarsest of some types; types that are not floating count as the finest."""
    known = [dtype for dtype in map(_real, dtypes) if dtype in _COARSENESS]
    return max(known, key=_COARSENESS.index) if known else "float32"


def spacing(dtype: str) -> float:
    """The step from 1 to the next number of a type."""
    return _SPACING.get(dtype, _SPACING["float32"])


def is_floating(dtype: str) -> bool:
    """Whether a type has fractions."""
    return dtype.startswith(("float", "bfloat", "complex", "hf32"))


def _real(dtype: str) -> str:
    return {"complex128": "float64", "complex64": "float32", "complex32": "float16"}.get(dtype, dtype)


class Meter:
    """Measures pairs, each of them once."""

    def __init__(self, *, host: bool = False) -> None:
        """Args: host: a CPU computes both sides."""
        self._host = host
        self._known: dict[Any, Metrics] = {}

    def measure(self, a: Tensor, b: Tensor, lowered: str = "", scales: tuple[float, float] = (1.0, 1.0)) -> Metrics:
        """How far ``b`` lies from ``a``.

        Args:
            lowered: a coarser type that one side computed in.
            scales: factors to take out of each side.
        """
        key = (a.key, b.key, lowered, scales) if a.key is not None and b.key is not None else None
        if key is not None and key in self._known:
            return self._known[key]
        found = msgspec.structs.replace(_measure(a, b, lowered, scales), host=self._host)
        if key is not None:
            self._known[key] = found
        return found


def _measure(a: Tensor, b: Tensor, lowered: str, scales: tuple[float, float]) -> Metrics:
    dtype = coarser(a.dtype, b.dtype, *filter(None, [lowered]))
    norms = (abs((a.norm or 0.0) / scales[0]), abs((b.norm or 0.0) / scales[1]))
    largest = (_largest(a) / abs(scales[0]), _largest(b) / abs(scales[1]))
    base: dict[str, Any] = {
        "dtype": dtype,
        "dtypes": (a.dtype, b.dtype),
        "shapes": (a.shape, b.shape),
        "norms": norms,
        "largest": largest,
        "nan": (a.nan, b.nan),
        "inf": (a.inf, b.inf),
    }
    if a.count != b.count or (a.shape != b.shape and _squeezed(a.shape) != _squeezed(b.shape)):
        return Metrics(**base, norm_error=math.inf, sampled=False, problem="shape")
    mask = _is_mask(a, b)
    left = a.load() if a.load is not None else None
    right = b.load() if b.load is not None else None
    if left is not None and right is not None and left.size != right.size:
        left, right = _same_places(left, right, a.count)
    if left is None or right is None or left.size != right.size:
        bound = 0.0 if mask else _from_statistics(a, b, scales)
        return Metrics(**base, norm_error=bound, sampled=False, problem=_not_finite(a, b))
    if mask:
        return _masks(left, right, base)
    if not is_floating(a.dtype) and not is_floating(b.dtype):
        return _whole(left, right, base)
    return _numbers(a, b, left, right, scales, base)


def _same_places(left: Any, right: Any, count: int) -> tuple[Any, Any]:
    """Where one side kept all values and the other some: those, from both."""
    np = numpy()
    if left.size == count:
        return left[np.asarray(kept_places(count, right.size))], right
    if right.size == count:
        return left, right[np.asarray(kept_places(count, left.size))]
    return left, right


def kept_places(count: int, wanted: int) -> Any:
    """Which of ``count`` values a capture keeps, as :func:`npuify.verify.capture.tensors.places` has it."""
    np = numpy()
    step = max(1, int(count * 0.6180339887498949))
    while math.gcd(step, count) != 1:
        step += 1
    return np.sort(np.arange(wanted, dtype=np.int64) * step % count)


def _numbers(a: Tensor, b: Tensor, left: Any, right: Any, scales: tuple[float, float], base: dict[str, Any]) -> Metrics:
    np = numpy()
    exact = scales == (1.0, 1.0) and left.dtype == right.dtype and bool(np.array_equal(left, right, equal_nan=True))
    problem = _not_finite(a, b)
    if exact and not problem:
        same: dict[str, Any] = dict.fromkeys(_ERRORS, 0.0)
        return Metrics(**base, norm_error=_from_statistics(a, b, scales), exact=True, cosine=1.0, **same)
    x, y = left.astype(np.float64) / scales[0], right.astype(np.float64) / scales[1]
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if not x.size:
        return Metrics(**base, norm_error=math.inf if problem else 0.0, problem=problem)
    difference = y - x
    norm_x, norm_y, distance = (float(np.linalg.norm(one)) for one in (x, y, difference))
    floor = max(norm_x, _SMALLEST_JUDGED)
    error = max(distance / floor if distance else 0.0, _from_statistics(a, b, scales))
    product = norm_x * norm_y
    cosine = float(np.dot(x, y)) / product if product > 0 else (1.0 if norm_x == norm_y else 0.0)
    relative = _relative(x, np.abs(difference), base["dtype"])
    ulp = _ulp(left[finite], right[finite], base["dtypes"]) if scales == (1.0, 1.0) else (None, None)
    return Metrics(
        **base,
        norm_error=math.inf if problem else error,
        cosine=max(-1.0, min(1.0, cosine)),
        max_absolute_error=float(np.abs(difference).max()),
        max_relative_error=float(relative.max()),
        mean_relative_error=float(relative.mean()),
        share_over_thousandth=float((relative > 1e-3).mean()),
        share_over_hundredth=float((relative > 1e-2).mean()),
        mean_ulp=ulp[0],
        ulp_share=ulp[1],
        ratio=_ratio(x, y, norm_x, distance, base["dtype"]),
        problem=problem,
    )


def _masks(left: Any, right: Any, base: dict[str, Any]) -> Metrics:
    """Masks that are added: how low the low side is means nothing."""
    np = numpy()
    x, y = (np.maximum(one.astype(np.float64), _LOW) for one in (left, right))
    error = float(np.linalg.norm(y - x)) / max(float(np.linalg.norm(x)), 1.0)
    return Metrics(**base, norm_error=error, exact=not error)


def _relative(x: Any, distance: Any, dtype: str) -> Any:
    """Relative errors; of small values the absolute error counts, as far as it is above the limit for those."""
    np = numpy()
    small, absolute = _SMALL.get(dtype) or _small(dtype)
    size = np.abs(x)
    tiny = size < small
    relative = distance / np.where(tiny, 1.0, size)
    return np.where(tiny, np.where(distance <= absolute, 0.0, distance / max(small, _SMALLEST_JUDGED)), relative)


_SMALL: dict[str, tuple[float, float]] = {}


def _small(dtype: str) -> tuple[float, float]:
    for row in tolerances.rows_for("float32" if dtype == "hf32" else dtype, "operator"):
        if row.measure == "small_value":
            _SMALL[dtype] = (row.limit, row.over)
            return _SMALL[dtype]
    _SMALL[dtype] = (1e-12, 1e-18)
    return _SMALL[dtype]


def _ratio(x: Any, y: Any, norm: float, distance: float, dtype: str) -> float | None:
    """The factor between both, where what it leaves is a tenth of the difference or less."""
    np = numpy()
    if x.size < 4 or norm == 0 or distance <= 16 * spacing(dtype) * norm:
        return None
    factor = float(np.dot(x, y)) / (norm * norm)
    rest = float(np.linalg.norm(y - factor * x))
    return factor if rest <= 0.1 * distance and factor != 0 else None


def _ulp(left: Any, right: Any, dtypes: tuple[str, str]) -> tuple[float | None, float | None]:
    """The mean distance in units in the last place, and the share of values beyond 32 (float32) or 1 (half types)."""
    np = numpy()
    if dtypes[0] != dtypes[1] or dtypes[0] not in ("float32", "float16", "bfloat16") or not left.size:
        return None, None
    kind, sign = _BITS["float16" if dtypes[0] == "float16" else "float32"]
    low = -(2**sign)

    def ordered(values: Any) -> Any:
        bits = np.ascontiguousarray(values).view(kind).astype(np.int64)
        return np.where(bits < 0, low - bits, bits)

    steps = np.abs(ordered(left) - ordered(right))
    if dtypes[0] == "bfloat16":
        steps = steps >> 16
    return float(steps.mean()), float((steps > (32 if dtypes[0] == "float32" else 1)).mean())


def _whole(left: Any, right: Any, base: dict[str, Any]) -> Metrics:
    """Whole numbers and truth values: the share that differs."""
    np = numpy()
    share = float((left != right).mean()) if left.size else 0.0
    problem = ""
    if share:
        truth = base["dtypes"] == ("bool", "bool")
        problem = "complement" if truth and bool(np.all(left != right)) else "whole numbers"
    return Metrics(**base, norm_error=share, exact=not share, problem=problem)


def _from_statistics(a: Tensor, b: Tensor, scales: tuple[float, float]) -> float:
    """A lower bound of the error of all values: from their norms, means and extremes."""
    if _not_finite(a, b):
        return math.inf
    if a.norm is None or b.norm is None:
        return 0.0
    norm = abs(a.norm / scales[0])
    floor = max(norm, _SMALLEST_JUDGED)
    bounds = [abs(norm - abs(b.norm / scales[1]))]
    if a.mean is not None and b.mean is not None and a.count:
        bounds.append(abs(a.mean / scales[0] - b.mean / scales[1]) * math.sqrt(a.count))
    # Statistics are printed with all their digits, but were summed with some rounding of their own.
    bound = max(bounds) / floor
    return bound if bound > 1e-12 else 0.0


def _not_finite(a: Tensor, b: Tensor) -> str:
    if a.nan and not b.nan and b.count:
        return "nan"
    if b.nan and not a.nan:
        return "nan"
    if bool(a.inf) != bool(b.inf):
        return "" if _is_mask(a, b) else "overflow"
    return ""


def _is_mask(a: Tensor, b: Tensor) -> bool:
    """Whether both are masks that are added: infinity on one side may be the type's lowest number on the other."""
    if a.nan or b.nan or not (is_floating(a.dtype) and is_floating(b.dtype)):
        return False
    low = [tensor.inf > 0 or (tensor.low or 0.0) <= _LOW for tensor in (a, b)]
    return all(low) and all((tensor.high or 0.0) <= 1.0 for tensor in (a, b)) and not (a.inf and b.inf)


def _largest(tensor: Tensor) -> float:
    return max(abs(tensor.low or 0.0), abs(tensor.high or 0.0))


def saturated(tensor: Tensor) -> bool:
    """Whether the largest number of its type is in it."""
    return _largest(tensor) == _LARGEST.get(tensor.dtype, -1.0)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)
