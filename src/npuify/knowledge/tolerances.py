"""How far two devices' numbers may lie apart, from ``tolerances.toml``."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from npuify.language import phrase
from npuify.model import Evidence, NpuifyError

from .hand_written import DATA, read_rows

Scope = Literal["operator", "module", "gradient", "loss", "host-module", "host-gradient"]
Measure = Literal[
    "norm_error",
    "mean_relative_error",
    "max_relative_error",
    "share_over",
    "ulp_share",
    "cosine",
    "amplification",
    "small_value",
]


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row; the file's head says what the fields mean."""

    dtype: Literal["float64", "float32", "hf32", "float16", "bfloat16", "any"]
    scope: Scope
    measure: Measure
    limit: float
    evidence: Evidence
    source: str
    over: float = 0.0
    level: Literal["fail", "warning"] = "fail"


@cache
def tolerances() -> tuple[Tolerance, ...]:
    """Every row, as it is written."""
    return tuple(read_rows(DATA / "tolerances.toml", "tolerance", Tolerance))


@cache
def rows_for(dtype: str, scope: Scope) -> tuple[Tolerance, ...]:
    """The rows that judge a type in a scope, those for any type included."""
    return tuple(row for row in tolerances() if row.scope == scope and row.dtype in (dtype, "any"))


@cache
def limit(dtype: str, scope: Scope, measure: Measure) -> float:
    """The limit of one measure.

    Raises:
        NpuifyError: the table has none.
    """
    for row in rows_for(dtype, scope):
        if row.measure == measure and row.level == "fail":
            return row.limit
    raise NpuifyError(
        phrase("no tolerance of {measure} for {dtype} in scope {scope}", measure=measure, dtype=dtype, scope=scope),
        file=str(DATA / "tolerances.toml"),
    )
