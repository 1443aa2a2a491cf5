"""What is known of chips, drivers and CANN, for judging a machine."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - the type of fields


class Chip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``chips.toml``; its head says what the fields mean."""

    product: str
    names: str
    ddr: Literal["yes", "no", ""]
    kernels: str
    package: str
    bf16: bool
    evidence: Evidence
    source: str


class DriverPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``drivers.toml``: ``cann`` is major and minor, ``drivers`` are too."""

    cann: str
    drivers: tuple[str, ...]
    evidence: Evidence
    source: str


class CannRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``cann_ranges.toml``."""

    belongs: tuple[str, ...]
    works: tuple[str, ...]
    evidence: Evidence
    source: str


class CannPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``cann_python.toml``."""

    name: str
    evidence: Evidence
    source: str


@cache
def chips() -> tuple[Chip, ...]:
    """Every generation."""
    return tuple(read_rows(DATA / "chips.toml", "chip", Chip))


def chip(name: str, *, has_ddr: bool) -> Chip | None:
    """The generation of a chip that ``npu-smi`` calls ``name``; None where no row fits.

    Args:
        has_ddr: whether the tool shows DDR memory of its own beside the high bandwidth memory.
    """
    for row in chips():
        if re.fullmatch(row.names, name, re.IGNORECASE) and row.ddr in ("", "yes" if has_ddr else "no"):
            return row
    return None


@cache
def driver_pairs() -> tuple[DriverPair, ...]:
    """Drivers by CANN."""
    return tuple(read_rows(DATA / "drivers.toml", "pair", DriverPair))


@cache
def cann_ranges() -> tuple[CannRange, ...]:
    """CANN versions that go together."""
    return tuple(read_rows(DATA / "cann_ranges.toml", "range", CannRange))


@cache
def cann_packages() -> tuple[CannPackage, ...]:
    """Python packages that CANN imports."""
    return tuple(read_rows(DATA / "cann_python.toml", "package", CannPackage))
