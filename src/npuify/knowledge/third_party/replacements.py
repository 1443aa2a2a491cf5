"""Which operators of CUDA extensions have a replacement, and for which copies of their code it was proven."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA
from npuify.language import phrase, semicolons
from npuify.model import Evidence, Explanation

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = DATA / "replacements"
LAUNCHES = FOLDER / "launches.json"
"""Digest of a copy → how wide it launches its kernels (``python -m tools.kernel_digests --launches``)."""


class ReplacedOperator(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One operator, as an extension hands it to Python.

    Attributes:
        name: as it is bound.
        function: the function in the family's module that takes its place, with the same arguments.
        copies: digests of the code that was read and is replaced, each with the public projects in which it was seen.
        differs: what of the kernel's results the replacement does not give, where there is anything.
    """

    name: str
    function: str
    copies: dict[str, str]
    differs: str = ""


class ReplacementFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A module of ``helpers/replacements``: one file of this folder, in the same subfolder.

    Attributes:
        what: what its operators compute.
        limits: shapes, types and settings for which it is made.
        cost: time and memory beside the kernel's.
        reference: what it was held against, forward and backward.
        operators: what it replaces.
        family: the module's name, and the file's.
    """

    what: str
    limits: str
    cost: str
    reference: str
    operators: tuple[ReplacedOperator, ...] = ()
    family: str = ""


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """What takes an operator's place: a function of a module that is written into the project."""

    family: str
    function: str
    differs: str = ""
    seen: str = ""
    """The public project whose code is the same."""


@cache
def families() -> Mapping[str, ReplacementFamily]:
    """All families by name.

    Raises:
        msgspec.ValidationError: a field is misspelt or of another type.
    """
    found = {}
    for path in sorted(FOLDER.glob("*/*.toml"), key=lambda one: one.stem):
        read = msgspec.convert(_toml(path.read_text(encoding="utf-8")), ReplacementFamily)
        found[path.stem] = msgspec.structs.replace(read, family=path.stem)
    return found


def _toml(text: str) -> object:
    import tomli

    return tomli.loads(text)


@cache
def _by_digest() -> Mapping[tuple[str, str], Replacement]:
    return {
        (row.name, digest): Replacement(family=name, function=row.function, differs=row.differs, seen=seen)
        for name, family in families().items()
        for row in family.operators
        for digest, seen in row.copies.items()
    }


@cache
def replaced_names() -> frozenset[str]:
    """The names under which operators that have a replacement are bound."""
    return frozenset(name for name, _ in _by_digest())


def replacement_of(name: str, digest: str) -> Replacement | None:
    """What takes the place of an operator whose code has this digest."""
    return _by_digest().get((name, digest)) if digest else None


def replacement_of_code(digest: str) -> Replacement | None:
    """What takes the place of an operator whose code has this digest, however it is bound.

    Nothing where the table has several functions for it, as they may be called in other ways.
    """
    found = [row for (_, known), row in _by_digest().items() if digest and known == digest]
    return found[0] if len({(row.family, row.function, row.differs) for row in found}) == 1 else None


@cache
def _launches() -> Mapping[str, tuple[str, ...]]:
    return msgspec.json.decode(LAUNCHES.read_bytes(), type=dict[str, tuple[str, ...]])


def launched_as(digest: str) -> tuple[str, ...]:
    """How wide the copies with this digest launch their kernels; nothing where that was not recorded."""
    return _launches().get(digest, ())


def _projects(family: ReplacementFamily) -> list[str]:
    """The public projects whose code is replaced."""
    lists = [one.split(", ") for row in family.operators for one in row.copies.values()]
    return sorted({project for one in lists for project in one})


def explain_replacement(what: str) -> Explanation | None:
    """What is known of replacements for operators of CUDA extensions, by family or by a name that is bound."""
    told = [one for one in families().values() if what in (one.family, *(row.name for row in one.operators))]
    lines: list[str] = []
    for family in told:
        names = ", ".join(dict.fromkeys(row.name for row in family.operators))
        seen = ", ".join(
            sorted({project for row in family.operators for one in row.copies.values() for project in one.split(", ")})
        )
        lines += [
            phrase("{family}: {what} ({names}).", family=family.family, what=family.what, names=names),
            "--replace-kernels puts PyTorch in the place of extensions with them.",
            phrase("Only where the code is that of a copy which was read: {seen}.", seen=seen),
            phrase("Limits: {limits}.", limits=family.limits),
            phrase("Cost: {cost}.", cost=family.cost),
            *(
                phrase("{name}: {message}.", name=row.name, message=row.differs)
                for row in family.operators
                if row.differs
            ),
            phrase("Compared with: {reference}.", reference=family.reference),
        ]
    if not lines:
        return None
    return Explanation(what, "replaced kernels", tuple(lines), (), told[0].reference, Evidence.ASSUMED)


def as_table() -> str:
    """All families as a table in Markdown, for the documentation."""
    head = (phrase("family"), phrase("operators"), phrase("copies of"), phrase("limits"), phrase("cost"))
    rows = [f"| {' | '.join(head)} |", "|---|---|---|---|---|"]
    for family in families().values():
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.name for row in family.operators))
        seen = ", ".join(
            sorted({project for row in family.operators for one in row.copies.values() for project in one.split(", ")})
        )
        limits = semicolons(
            (
                phrase(family.limits),
                *(
                    phrase("`{name}`: {message}", name=row.name, message=row.differs)
                    for row in family.operators
                    if row.differs
                ),
            )
        )
        what = phrase("{family}: {what}", family=family.family, what=family.what)
        rows.append(f"| {what} | {names} | {seen} | {limits} | {phrase(family.cost)} |")
    return "\n".join(rows) + "\n"
