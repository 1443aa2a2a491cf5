"""Tracebacks that a log breaks off in, before it says what was raised: what their frames tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence

from .origins import origin_of_file
from .packages import built_package, package_in, package_of_frames
from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame

_IMPORTS: Final = re.compile(r"^\s*(?:from|import)\s+(?P<module>\.|[A-Za-z_][\w.]*)")
_LAUNCHERS: Final = re.compile(
    r"/torch/distributed/(?:run|launch|launcher/\w+|elastic/.*)\.py$|/bin/\w+$|/accelerate/commands/|/deepspeed/launcher/"
)
"""Files of launchers, whose tracebacks only say that a process failed."""
_CALLS: Final = re.compile(r"(\w+)\(")
_INSTALLED: Final = re.compile(r"/(?:site|dist)-packages/(\w+)")
_CHECKS: Final = re.compile(r"check|validate|verify|require|enable|import|available")
"""What functions are called that look whether a package is there."""
_WEIGHT: Final = 48
UNEXPLAINED: Final = "python-exception"
"""The name of an exception that nothing more is known of."""


def cut_match(frames: Sequence[Frame], source: str) -> Match | None:
    """What the frames of a traceback tell whose exception the log does not hold; None for a launcher's traceback.

    Args:
        frames: the frames, at least one.
        source: the line below the last of them; may be empty.
    """
    last = frames[-1]
    if _LAUNCHERS.search(last.file):
        return None
    imports = _IMPORTS.match(source)
    named = built_package(imports["module"]) if imports is not None else None
    if named is None and (last.function in ("", "<module>") or imports is not None):
        named = package_of_frames(frames)
    called = _CALLS.search(source)
    for name in (called[1] if called is not None else "", last.function):
        if named is None and _CHECKS.search(name):
            named = package_in(name)
    if named is not None:
        return named._replace(weight=_WEIGHT + 2)
    origin = origin_of_file(last.file)
    if origin is not None:
        return origin._replace(weight=min(origin.weight, _WEIGHT))
    inside = _INSTALLED.search(last.file.replace("\\", "/"))
    if imports is not None and inside is not None and last.function == "<module>":
        return _match(
            phrase("An import inside of {package} failed; the log breaks off before it says which.", package=inside[1]),
            cause="version-mismatch",
            weight=40,
        )
    return _match(
        phrase("The log breaks off inside a traceback: what was raised stands in the lines that are missing."),
        cause="script-error",
        weight=31,
        name=UNEXPLAINED,
    )._replace(role="wrapper")


def _match(why: str, *, cause: str, weight: int, name: str = "traceback-cut") -> Match:
    return Match(
        name=name,
        meaning=why,
        cause=cause,
        role="cause",
        weight=weight,
        evidence=Evidence.ASSUMED,
        source="the last frame of the traceback",
        why=why,
        fix=phrase("Get the log to its end: the line below the last frame names the exception."),
    )
