"""What one Python file shows of the project without being parsed: a main guard, and the frameworks that it imports."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from npuify.project.frameworks import FRAMEWORKS

_GUARD: Final = re.compile(
    rb"""(?:^|\n)if[ \t(]+(?:__name__[ \t]*==[ \t]*["']__main__["']|["']__main__["'][ \t]*==[ \t]*__name__)"""
)
# The newline as a literal start keeps the search as quick as one for a word.
_IMPORT: Final = re.compile(rb"\n[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]*)([^\n]*)")


class Trace(msgspec.Struct, array_like=True, frozen=True):
    """What is kept of a file."""

    guard: int = 0
    """Line of ``if __name__ == "__main__":``, from 1; 0 where there is none."""
    imports: tuple[tuple[str, int], ...] = ()
    """Frameworks by import name, each with the line that imports it first."""


_NOTHING: Final = Trace()


def trace(raw: bytes) -> Trace:
    """What the file with the content ``raw`` shows. Searched as text: a quoted program counts too."""
    guard = 0
    if b"__main__" in raw:
        match = _GUARD.search(raw)
        guard = raw.count(b"\n", 0, match.start() + 1) + 1 if match else 0
    places: dict[str, int] = {}
    for match in _IMPORT.finditer(b"\n" + raw):
        names = [match[1], *re.findall(rb",\s*([A-Za-z_][\w.]*)", match[2])] if b"," in match[2] else [match[1]]
        for name in names:
            framework = _framework(name)
            if framework and framework not in places:
                places[framework] = match.start()
            if match[0].lstrip().startswith(b"from"):
                break
    imports = tuple((name, raw.count(b"\n", 0, at) + 1) for name, at in places.items())
    return Trace(guard, imports) if guard or imports else _NOTHING


_KNOWN: Final = {name.encode(): name for name in FRAMEWORKS}


def _framework(module: bytes) -> str:
    """The framework that a module belongs to, or nothing: ``nvidia.dali.ops`` belongs to ``nvidia.dali``."""
    top = module.split(b".", 2)
    return _KNOWN.get(top[0]) or (_KNOWN.get(b".".join(top[:2]), "") if len(top) > 1 else "")
