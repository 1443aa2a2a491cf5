"""What becomes of single names of packages that only CUDA has: what works, what is replaced, what is to be decided."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import commas, phrase
from npuify.model import Evidence, Explanation, NpuifyError, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome = Literal["works", "replaced", "decide"]


class MemberFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``members/*.toml``: names of one package that have the same fate on an NPU."""

    modules: tuple[str, ...]
    """Modules from which they are imported; the first says the package."""
    names: tuple[str, ...]
    """Their last parts; a star alone stands for every name that has no row, in these modules and below them."""
    outcome: Outcome
    message: str
    evidence: Evidence
    source: str
    advice: str = ""
    reached_from: tuple[str, ...] = ()
    """Of what is replaced: modules above, for which the module that is written can stand as well, by the same names."""
    module: str = ""
    """Of what is replaced: the module that is written into the project, which has the same names."""
    safety: Safety = Safety.SAFE
    """Of the replacement."""
    operators: tuple[str, ...] = ()
    """Operators that it needs beyond the usual ones: where a release lists no kernel for one, it is told."""
    without: tuple[str, ...] = ()
    """Arguments that the replacement does not take; a call that gives one is not replaced."""
    positional: int = 99
    """How many arguments may be given by place before those are reached."""
    together: bool = False
    """Of what is replaced: its functions hand objects to each other, so a file takes all of them from one place."""
    severity: Severity = Severity.WARNING
    """Of a use that is to be decided."""

    @property
    def package(self) -> str:
        """The import name of the package."""
        return self.modules[0].partition(".")[0]


class Member(NamedTuple):
    """A name and its row."""

    name: str
    fact: MemberFact


class _Table(NamedTuple):
    by_name: Mapping[str, MemberFact]
    below: Mapping[str, MemberFact]
    packages: frozenset[str]
    modules: frozenset[str]


@cache
def _table() -> _Table:
    by_name: dict[str, MemberFact] = {}
    below: dict[str, MemberFact] = {}
    modules: set[str] = set()
    for path in sorted((DATA / "members").glob("*.toml")):
        for row in read_rows(path, "member", MemberFact):
            if (row.outcome == "replaced") != bool(row.module):
                raise NpuifyError(
                    phrase("only what is replaced has a module: {name}", name=row.names[0]), file=str(path)
                )
            modules.update(row.modules)
            for module in row.modules:
                for name in row.names:
                    table, key = (below, module) if name == "*" else (by_name, f"{module}.{name}")
                    if key in table:
                        raise NpuifyError(phrase("two rows for {name}", name=key), file=str(path))
                    table[key] = row
    packages = frozenset(module.partition(".")[0] for module in modules)
    return _Table(by_name, below, packages, frozenset(modules))


def member_of(name: str) -> MemberFact | None:
    """The row of a qualified name: its own, that of the longest name above it, or that of the module it lies in."""
    table = _table()
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        beginning = ".".join(parts[:length])
        row = table.by_name.get(beginning) or table.below.get(beginning)
        if row is not None:
            return row
    return None


def named_member(name: str) -> MemberFact | None:
    """The row that says a qualified name itself."""
    return _table().by_name.get(name)


def members() -> Mapping[str, MemberFact]:
    """Every row by each qualified name that it is about; a module's own name stands for what lies below it."""
    return {**_table().below, **_table().by_name}


def packages_with_members() -> frozenset[str]:
    """The import names of the packages that have rows."""
    return _table().packages


def is_member_module(name: str) -> bool:
    """Whether a qualified name is a module from which rows' names are imported."""
    return name in _table().modules


def explain_member(what: str) -> Explanation | None:
    """What becomes of a name of such a package, ``torch_scatter.scatter_add``; None for a package or where nothing is
    known."""
    fact = member_of(what) if "." in what and what not in _table().packages else None
    if fact is None:
        return None
    lines = [_becomes(fact), fact.message]
    if fact.advice:
        lines.append(fact.advice)
    if fact.without:
        lines.append(phrase("Not where a call gives {arguments}.", arguments=commas(fact.without)))
    return Explanation(what, "name of a package", tuple(lines), (), fact.source, fact.evidence)


def lines_of_package(package: str) -> list[str]:
    """What the rows say of a package, by its import name: which names are replaced, work, or are to be decided."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for name, fact in members().items():
        if name.partition(".")[0] == package:
            last = f"{name}.*" if name in _table().below else name
            rows.setdefault((fact.outcome, fact.module), {})[last] = None
    lines = []
    for (outcome, module), found in rows.items():
        names = commas(sorted(found))
        if outcome == "replaced":
            lines.append(phrase("From {module}, written into the project: {names}", module=module, names=names))
        elif outcome == "works":
            lines.append(phrase("Works where an NPU is: {names}", names=names))
        else:
            lines.append(phrase("To be decided where it is used: {names}", names=names))
    return lines


def _becomes(fact: MemberFact) -> str:
    if fact.outcome == "replaced":
        return phrase("It is imported from {module}, which is written into the project.", module=fact.module)
    return "It works where an NPU is." if fact.outcome == "works" else "What takes its place is to be decided."
