"""What is known of kernels: which operators of extensions have an equivalent, and what triton-ascend does not do."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase
from npuify.model import Evidence, NpuifyError


class KernelFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``kernels.toml``; its head says what the values mean."""

    pattern: str
    what: str
    equivalent: str
    note: str
    evidence: Evidence
    source: str


class TritonFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``triton.toml``; its head says what the values mean."""

    name: str
    level: Literal["unsupported", "limited", "ignored", "runtime"]
    message: str
    advice: str
    evidence: Evidence
    source: str


class DeviceFunction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``libdevice.toml``; its head says what the values mean."""

    names: tuple[str, ...]
    becomes: str
    source: str


@cache
def libdevice_functions() -> dict[str, str]:
    """Functions of NVIDIA's device library for Triton, and what Triton's language has for each.

    Empty where only triton-ascend's own device library has the function.
    """
    rows = read_rows(DATA / "libdevice.toml", "function", DeviceFunction)
    return {name: row.becomes for row in rows for name in row.names}


@cache
def _kernels() -> list[tuple[re.Pattern[str], KernelFact]]:
    path = DATA / "kernels.toml"
    rows = []
    for row in read_rows(path, "kernel", KernelFact):
        try:
            rows.append((re.compile(row.pattern), row))
        except re.error as error:
            raise NpuifyError(
                phrase("{what}: the pattern cannot be read: {error}", what=row.what, error=error), file=str(path)
            ) from None
    return rows


def equivalent_of(*names: str) -> KernelFact | None:
    """What stands for an operator, by its names: that under which Python calls it first, then those of its kernels."""
    for name in names:
        for pattern, row in _kernels():
            if pattern.search(name.lower()):
                return row
    return None


def kernel_facts() -> list[KernelFact]:
    """All rows about operators, in the order in which they are tried."""
    return [row for _, row in _kernels()]


@cache
def triton_facts() -> dict[str, TritonFact]:
    """All rows about Triton, by name."""
    return {row.name: row for row in read_rows(DATA / "triton.toml", "triton", TritonFact)}
