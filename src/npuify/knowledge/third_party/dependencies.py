"""What is known of Python packages that projects ask for."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.knowledge.release.versions import within
from npuify.language import phrase
from npuify.model import Evidence, NpuifyError, Safety, Severity


class Dependency(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``dependencies.toml``; its head says what the values mean."""

    name: str
    status: Literal["native", "plugin", "fork", "partial", "replacement", "cpu-only", "none"]
    action: Literal["keep", "replace", "source", "drop", "manual"]
    message: str
    evidence: Evidence
    source: str
    also: tuple[str, ...] = ()
    replacement: str = ""
    minimum: str = ""
    below: str = ""
    safety: Safety = Safety.REVIEW
    severity: Severity = Severity.ERROR
    advice: str = ""
    since: str = ""
    until: str = ""


class Companions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``companions.toml``: what belongs to a torch release. Empty: there is none."""

    torch: str
    torchvision: str
    torchaudio: str
    evidence: Evidence
    source: str


@cache
def _rows() -> tuple[dict[str, Dependency], list[tuple[re.Pattern[str], Dependency]]]:
    path = DATA / "dependencies.toml"
    exact: dict[str, Dependency] = {}
    patterns: list[tuple[re.Pattern[str], Dependency]] = []
    for row in read_rows(path, "package", Dependency):
        if (row.action == "replace") != bool(row.replacement):
            raise NpuifyError(
                phrase("{name}: a replacement belongs to the action replace", name=row.name), file=str(path)
            )
        for name in (row.name, *row.also):
            if name.endswith("*"):
                patterns.append((re.compile(re.escape(name[:-1]) + ".*"), row))
            elif name in exact:
                raise NpuifyError(phrase("two rows for {name}", name=name), file=str(path))
            else:
                exact[name] = row
    return exact, patterns


def dependency(name: str, torch_npu: str) -> Dependency | None:
    """What is known of the package ``name``, normalised, for a torch_npu release; None where it is nothing."""
    exact, patterns = _rows()
    row = exact.get(name) or next((row for pattern, row in patterns if pattern.fullmatch(name)), None)
    return row if row is not None and within(torch_npu, row.since, row.until) else None


def dependencies() -> tuple[Dependency, ...]:
    """Every row, in the order of the table."""
    return tuple(read_rows(DATA / "dependencies.toml", "package", Dependency))


@cache
def companions(torch: str) -> Companions | None:
    """torchvision and torchaudio that belong to a version of torch; None where that is not known."""
    return next((row for row in read_rows(DATA / "companions.toml", "set", Companions) if row.torch == torch), None)
