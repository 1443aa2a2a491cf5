"""Packages that pip, uv and conda name when they cannot find or build them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.diagnosis.model import Frame

INSTALLS: Final = re.compile(
    r"Failed building wheel|[Ff]ailed to (?:download and )?build|Could not build wheels|satisfies the requirement"
    r"|matching distribution|supported wheel|╰─> \w|nothing provides|following packages are (?:not available|missing)"
    r"|/pip-install-|Unable to locate package|No match for argument|PackagesNotFound"
)
"""Lines of installers that name what they were asked for."""

_NAMED: Final = (
    re.compile(r"Failed building wheel for ([A-Za-z][\w.-]*)"),
    re.compile(r"[Ff]ailed to (?:download and )?build [`'\"]?([A-Za-z][\w.-]*)"),
    re.compile(r"Could not build wheels for ([A-Za-z][\w.-]*)"),
    re.compile(r"(?:satisfies the requirement|[Nn]o matching distribution found for) ([A-Za-z][\w.-]*)"),
    re.compile(r"\b([A-Za-z]\w*)-\d[\w.+!]*-\w+-\w+-[\w.]+\.whl['\"]? is not a supported wheel"),
    re.compile(r"╰─> ([A-Za-z][\w.-]*)$"),
    re.compile(r"nothing provides (?:requested )?([A-Za-z][\w.-]*)"),
    re.compile(r"(?:Unable to locate package|No match for argument:) ([A-Za-z][\w.-]*)"),
    # conda names them in the lines below its message
    re.compile(r"(?:following packages are .*|\n)\n\s+- (?:[\w/.-]+::)?([A-Za-z][\w.-]*)"),
)
_UNPACKED: Final = re.compile(r"/pip-(?:install|req-build|wheel|download)-\w+/([A-Za-z][\w.-]*?)(?:_[0-9a-f]{6,})?/")
"""Where pip unpacks what it builds."""
_MISSING: Final = re.compile(r"No module named '(\w+)'")
_BUILDS: Final = re.compile(
    r"/pip-(?:install|req-build|wheel|download|build-env)-|<pip-setuptools-caller>|/builds-v\d/"
)
_BUILDING: Final = re.compile(
    r"Building wheels? for (?:collected packages: )?([A-Za-z][\w.-]*)|[/\\]pip-(?:install|req-build|wheel)-\w+[/\\]"
    r"([A-Za-z][\w.-]*?)(?:_[0-9a-f]{6,})?[/\\]"
)
"""How lines and frames name the package that pip builds at the time."""
_EXTENSION: Final = re.compile(r"(?:Building|Loading) extension module (?!\w*cpu)(\w+)\.\.\.")
"""What torch says of an extension that it compiles when the program runs; those with cpu in their names lack CUDA."""
LIST_FOLLOWS: Final = re.compile(r"following packages are (?:not available|missing)")
"""A message of conda whose packages stand in the lines below it."""


def asked_of_installers(text: str, frames: Sequence[Frame]) -> Iterator[str]:
    """Names of packages that an installer says it cannot find or build.

    Args:
        text: a line; of conda's message with those below it.
        frames: the traceback's frames, one of which may be the setup.py that pip runs.
    """
    if INSTALLS.search(text):
        for pattern in _NAMED:
            for found in pattern.finditer(text):
                yield found[1]
    for place in (*(frame.file for frame in reversed(frames)), *((text,) if "nvcc" in text else ())):
        unpacked = _UNPACKED.search(place)
        if unpacked is not None:
            yield unpacked[1]


def being_built(text: str) -> str:
    """The package that a line, or the file of a frame, says is being built; empty where it says nothing of that.

    Args:
        text: the line or file.
    """
    found = _BUILDING.search(text) if "uilding wheel" in text or "pip-" in text else None
    return (found[1] or found[2]) if found is not None else ""


def extension_compiled(text: str) -> str:
    """The extension that torch says it compiles or loads while the program runs; empty where a line says nothing of it.

    Args:
        text: the line.
    """
    found = _EXTENSION.search(text) if "extension module" in text else None
    return found[1] if found is not None else ""


def build_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What it says that a package's setup does not find another package while it is built; None for other lines.

    Args:
        text: the exception that ended a traceback.
        frames: the traceback's frames.
    """
    missing = _MISSING.search(text)
    if missing is None or not any(_BUILDS.search(frame.file) for frame in frames):
        return None
    why = phrase(
        "A package imports {missing} while it is built, and pip builds it apart from what is installed.",
        missing=missing[1],
    )
    return Match(
        name="import-while-built",
        meaning=why,
        cause="build-setup",
        role="cause",
        weight=86,
        evidence=Evidence.DOCUMENTED,
        source="pip, documentation of --no-build-isolation",
        why=why,
        fix=phrase("Install {missing} first, and build with pip install --no-build-isolation.", missing=missing[1]),
    )
