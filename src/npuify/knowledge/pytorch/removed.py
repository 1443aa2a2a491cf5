"""Names of torch that are gone: from which release, and what takes their place."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Mapping


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``removed.toml``; its head says what the values mean."""

    name: str
    since: str = ""
    becomes: str = ""
    module: str = ""
    value: str = ""
    argument: str = ""
    drop: bool = False
    safety: str = "safe"
    advice: str = ""
    evidence: Evidence
    source: str


class Removed(msgspec.Struct, frozen=True):
    """A name that is gone."""

    name: str
    """As the tables spell it: ``torch.lstsq``; ``torch.fft()`` for a function whose name is a module's now."""
    last: str
    """The newest release of torch read that has it; empty where none of those that were read does."""
    first: str
    """The oldest release read that lacks it, and from which on it stays away."""
    replacement: Replacement | None

    def is_gone_from(self, torch: str) -> bool:
        """Whether a release of torch, ``2.6.0``, lacks the name."""
        return numbers(torch) >= numbers(self.first)


def numbers(version: str) -> tuple[int, ...]:
    """``2.6.0+cpu`` as numbers that can be compared."""
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:2] if part.isdigit())


@cache
def removed_names() -> Mapping[str, Removed]:
    """Every name of torch that some release lacks although an older one has it, with rows written by hand."""
    rows = {row.name: row for row in read_rows(DATA / "removed.toml", "removed", Replacement)}
    table = msgspec.json.decode((DATA / "torch_names.json").read_bytes(), type=dict[str, tuple[str, str]])
    found = {name: Removed(name, last, first, rows.get(name)) for name, (last, first) in table.items()}
    for name, row in rows.items():
        if name not in found:
            parent = next((found[p] for p in _parents(name) if p in found), None)
            since = row.since or (parent.first if parent is not None else "1.1.0")
            found[name] = Removed(name, parent.last if parent is not None else "", since, row)
    return found


def removed_name(name: str, torch: str) -> Removed | None:
    """What is known of ``name``, or of the module or class that holds it, if ``torch`` lacks that.

    Args:
        name: ``torch._six.inf``.
        torch: a release, ``2.6.0``.
    """
    table = removed_names()
    for spelling in (name, *_parents(name)):
        known = table.get(spelling)
        if known is not None and known.is_gone_from(torch):
            return known
    return None


def _parents(name: str) -> list[str]:
    """``torch._six`` for ``torch._six.inf``; torch itself is none."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 1, -1)]
