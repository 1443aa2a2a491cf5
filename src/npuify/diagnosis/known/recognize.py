"""What a line says: by the tables of texts and codes, and by the packages that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.failures.causes import causes, exception_fact
from npuify.model import Evidence

from .cut import UNEXPLAINED as NAME_OF_UNEXPLAINED
from .fits import REFUSED, refused_match
from .gone import MISSES, gone_match
from .installers import build_match
from .names import LACKS, name_match
from .origins import origin_match
from .owners import NAMES, owner_match, system_match
from .packages import ASKS, package_match
from .parts import part_match
from .refusals import REFUSES, refusal_match
from .signatures import Match, matches
from .tables import SPEAKS, table_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame

_GOES_ON: Final = re.compile(
    r"(?i)\bwill ignore (?:the |this )?error and continue|^ignored error while"
    r"|\bignoring (?:the |this )?(?:error|exception)\b"
)
"""What says of itself that the program goes on after it."""
_LIGHT: Final = 29
"""The most that a line counts which its logger calls a warning or less: the program went on after it."""

UNEXPLAINED: Final = Match(
    name=NAME_OF_UNEXPLAINED,
    meaning="an exception that nothing more is known of",
    cause="script-error",
    role="cause",
    weight=32,
    evidence=Evidence.ASSUMED,
    source="",
)
"""For an exception that no table knows: weaker than what is known, stronger than what ranks say that waited."""


def recognized(text: str, frames: Sequence[Frame], *, light: bool) -> list[Match]:
    """Everything that is known of a line.

    Args:
        text: the line.
        frames: those of the traceback that the line ends; may be empty.
        light: whether the line's logger calls it a warning or less.
    """
    light = light or _GOES_ON.search(text) is not None
    found = matches(text)
    harmless = [one for one in found if one.role == "noise" and one.name != "plain-warning"]
    if harmless:
        return harmless
    if LACKS.search(text):
        name = name_match(text)
        found += [name] if name is not None else []
    if MISSES.search(text):
        gone = gone_match(text)
        found += [gone] if gone is not None else []
    if ASKS.search(text):
        package = package_match(text, frames, found)
        found += [package] if package is not None else []
        part = part_match(text, frames)
        found += [part] if part is not None else []
    for told in (build_match(text, frames), origin_match(text, frames)) if frames else ():
        found += [told] if told is not None else []
    if REFUSED.search(text):
        refused = refused_match(text, frames)
        found += [refused] if refused is not None else []
    if SPEAKS.search(text):
        found += table_matches(text, frames, found)
    if REFUSES.search(text):
        refusal = refusal_match(text, frames)
        found += [refusal] if refusal is not None else []
    if NAMES.search(text):
        owner = owner_match(text)
        found += [owner] if owner is not None else []
    if not found and not light:
        system = system_match(text)
        found += [system] if system is not None else []
    if light:
        found = [
            one._replace(weight=min(one.weight, _LIGHT), role="hint")
            if one.role in ("cause", "consequence") and not one.loud
            else one
            for one in found
        ]
    return found


_SAYS_NOTHING: Final = 33
"""The weight of kinds that programs raise for any reason: RuntimeError."""
_ERRNO: Final = re.compile(r"\[Errno (-?\d+)\]")


def exception_match(kind: str, text: str) -> Match:
    """What is known of an exception by its kind and its number of the system's.

    Args:
        kind: its name as the traceback has it.
        text: the whole line.
    """
    number = _ERRNO.search(text)
    fact = exception_fact(kind, int(number[1]) if number else None)
    if fact is None:
        return UNEXPLAINED
    if fact.weight <= _SAYS_NOTHING:
        return UNEXPLAINED._replace(why=fact.why, fix=fact.fix)
    return Match(
        name=f"exception-{kind.rpartition('.')[2]}",
        meaning=fact.why or causes()[fact.cause].why,
        cause=fact.cause,
        role="cause",
        weight=fact.weight,
        evidence=fact.evidence,
        source=fact.source,
        why=fact.why,
        fix=fact.fix,
    )
