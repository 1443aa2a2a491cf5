"""Packages that a line of a log names, and what the tables know of them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.knowledge.dependencies import dependencies
from npuify.knowledge.hand_written import packages

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Evidence

    from .model import Frame

ASKS: Final = re.compile(
    r"No module named|cannot import name|not found in your environment|package metadata|not(?: be)? installed|"
    r"pip install|[Pp]lease install|requires?\b|Error\b|\.so\b"
)
"""Lines that may name a package that is asked for."""

_NAMES: Final = (
    re.compile(r"No module named '?([\w.]+)"),
    re.compile(r"cannot import name '\w+' from '?([\w.]+)"),
    re.compile(r"not found in your environment: ([\w.-]+)"),
    re.compile(r"No package metadata was found for (?:The )?'?([\w.-]+)"),
    re.compile(r"pip3? install (?:-\S+ )*[`'\"]?([A-Za-z][\w.-]*)"),
    re.compile(r"(?:package|module|library|dependency) [`'\"]?([A-Za-z][\w.-]*)[`'\"]?"),
    re.compile(
        r"[`'\"]?\b([A-Za-z][\w.-]*)[`'\"]?(?: package| library| module)?"
        r" (?:is not|is required|not|must be|to be) installed"
    ),
    re.compile(r"(?:requires?|[Uu]sing|[Ii]nstall)(?: the)?(?: \w+ of)? [`'\"]([A-Za-z][\w.-]*)[`'\"]"),
    re.compile(r"(?:must|need to|have to|[Pp]lease) install ([A-Za-z][\w.-]+)"),
)
_LIBRARY: Final = re.compile(r"/(?:site|dist)-packages/(\w+?)(?=_\d+_cuda|_cuda|_C\b|[/.-])")
_FOR_GPUS: Final = {"none", "fork", "replacement"}
_OTHERWISE_KNOWN: Final = {"torch", "torch_npu", "triton", "mmcv", "numpy"}


@cache
def _by_name() -> dict[str, tuple[str, str, str, Evidence, str]]:
    """Status, message, advice, evidence and source, by module and by the name that pip knows."""
    found: dict[str, tuple[str, str, str, Evidence, str]] = {}
    for row in dependencies():
        for name in (row.name, *row.also):
            found[_normal(name)] = (row.status, row.message, row.advice, row.evidence, row.source)
    for module, fact in packages().items():
        if module in fact.names:
            continue  # it is about some names of the package, not about the package
        for name in (module, *fact.package):
            found[_normal(name)] = (fact.status, fact.message, fact.advice, fact.evidence, fact.source)
    return found


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()


def _fact(name: str) -> tuple[str, tuple[str, str, str, Evidence, str]] | None:
    """The row of a module, or of the nearest that it lies below."""
    parts = _normal(name).strip(".").split(".")
    if parts[0] in _OTHERWISE_KNOWN:
        return None
    for length in range(len(parts), 0, -1):
        row = _by_name().get(".".join(parts[:length]))
        if row is not None:
            return ".".join(parts[:length]), row
    return None


def _asked_for(text: str) -> Iterator[str]:
    for pattern in _NAMES:
        for found in pattern.finditer(text):
            yield found[1]


def package_match(text: str, frames: Sequence[Frame], known_as: Sequence[Match]) -> Match | None:
    """What is known of a package that a message asks for, or in which a traceback ends; None where it is nothing.

    Args:
        text: the line, usually the exception that ended a traceback.
        frames: the traceback's frames; may be empty.
        known_as: what the tables of texts say of the line; where they say the same, the package's advice comes first.
    """
    found = _package(text, frames)
    if found is not None and any(one.cause == found.cause for one in known_as):
        return found._replace(weight=97)
    return found


def _package(text: str, frames: Sequence[Frame]) -> Match | None:
    part = "cannot import name" in text  # the package is there, in another version
    for name in _asked_for(text):
        known = _fact(name)
        if known is not None and (known[1][0] in _FOR_GPUS or ("." not in name and not part)):
            return _match(*known, weight=84 if known[1][0] in _FOR_GPUS else 45)
    library = _LIBRARY.search(text)
    known = _fact(library[1]) if library and ".so" in text else None
    if known is not None and known[1][0] in _FOR_GPUS:
        return _match(*known, weight=96)
    ended = _LIBRARY.search(frames[-1].file) if frames else None
    known = _fact(ended[1]) if ended else None
    if known is not None and known[1][0] in _FOR_GPUS:
        return _match(*known, weight=52)
    return None


def _match(name: str, row: tuple[str, str, str, Evidence, str], *, weight: int) -> Match:
    status, message, advice, evidence, source = row
    for_gpus = status in _FOR_GPUS
    return Match(
        name=f"package-{name}",
        meaning=message,
        cause="cuda-only-package" if for_gpus else "missing-package",
        role="cause",
        weight=weight,
        evidence=evidence,
        source=source,
        why=message,
        fix=advice,
    )
