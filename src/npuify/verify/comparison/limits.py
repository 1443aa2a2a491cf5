"""Whether an error is rounding, growth of an earlier one, or a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge import tolerances

from .metrics import is_floating

if TYPE_CHECKING:
    from .metrics import Metrics

FEW = 0.01
"""Share of whole numbers that may differ: ties of argmax and the like fall otherwise by rounding."""


def module_limit(dtype: str, *, host: bool = False) -> float:
    """The error of a module's result up to which it is rounding.

    Args:
        host: a CPU computes both sides, so that there is one arithmetic and only sums may be added up in another order.
    """
    return tolerances.limit(dtype, "host-module" if host and dtype == "float32" else "module", "norm_error")


def gradient_limit(dtype: str, *, host: bool = False) -> float:
    """The same for a gradient."""
    return tolerances.limit(dtype, "host-gradient" if host and dtype == "float32" else "gradient", "norm_error")


def amplification() -> float:
    """The factor between the errors before and after from which on it is no growth of the earlier one."""
    return tolerances.limit("any", "module", "amplification")


def limit_of(metrics: Metrics, *, gradient: bool = False) -> float:
    """The limit that a pair is judged by."""
    if not any(map(is_floating, metrics.dtypes)):
        return FEW
    judge = gradient_limit if gradient else module_limit
    return judge(metrics.dtype, host=metrics.host)


def is_fault(metrics: Metrics, before: float, *, gradient: bool = False) -> bool:
    """Whether the error is beyond its limit, and not explained by the error of what it was made from.

    Args:
        before: the largest error of what it was made from.
        gradient: it is a gradient, whose limit is wider.
    """
    return metrics.norm_error > limit_of(metrics, gradient=gradient) and metrics.norm_error > amplification() * before


def failed(metrics: Metrics) -> tuple[str, ...]:
    """The published limits for single operators that a pair breaks."""
    if not metrics.sampled or metrics.exact or not any(map(is_floating, metrics.dtypes)):
        return ()
    broken = []
    for row in tolerances.rows_for(metrics.dtype, "operator"):
        if row.level != "fail":
            continue
        value = {
            "mean_relative_error": metrics.mean_relative_error,
            "max_relative_error": metrics.max_relative_error,
            "share_over": metrics.share_over_hundredth if row.over == 1e-2 else metrics.share_over_thousandth,
            "ulp_share": metrics.ulp_share,
        }.get(row.measure)
        if value is not None and value > row.limit:
            broken.append(f"{row.measure.replace('_', ' ')} {value:.3g} > {row.limit:.3g}")
        if row.measure == "cosine" and metrics.cosine is not None and metrics.cosine < row.limit:
            broken.append(f"cosine {metrics.cosine:.4g} < {row.limit:.4g}")
    return tuple(broken)
