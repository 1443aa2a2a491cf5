"""What an exception is about, told by the file in which its traceback ends."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.knowledge.failures.origins import origin_facts

from .owners import match_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame
    from npuify.knowledge.failures.origins import OriginFact

    from .signatures import Match

_KIND: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*(?P<kind>[A-Za-z_]\w*)(?::|$)")
_SAY_MORE: Final = {"ImportError", "ModuleNotFoundError", "KeyboardInterrupt", "SystemExit", "MemoryError"}
"""Kinds that are about something else wherever they are raised."""

_OF_COMMANDS: Final = {"CalledProcessError", "TimeoutExpired"}
"""Kinds that a command raises which ended with an error, or did not end."""


@cache
def _rows() -> tuple[tuple[re.Pattern[str], OriginFact], ...]:
    return tuple((re.compile(fact.files), fact) for fact in origin_facts())


def origin_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What the last frame says of the exception; None where no row has its file.

    Args:
        text: the exception that ended a traceback.
        frames: the traceback's frames.
    """
    found = _KIND.match(text)
    if found is None or found["kind"] in _SAY_MORE:
        return None
    asks = frames[-1]
    if found["kind"] in _OF_COMMANDS:  # who started the command says more than the module that starts commands
        asks = next((one for one in reversed(frames) if not one.file.endswith("subprocess.py")), asks)
    return origin_of_file(asks.file, found["kind"])


def origin_of_file(file: str, kind: str | None = None) -> Match | None:
    """What a file says of an exception that it raised; None where no row has it.

    Args:
        file: the file of a traceback's last frame.
        kind: the exception's, without its package; None where it is not known.
    """
    file = file.replace("\\", "/")
    fact = next(
        (
            fact
            for files, fact in _rows()
            if files.search(file) and (kind is None or not fact.kinds or kind in fact.kinds)
        ),
        None,
    )
    return None if fact is None else match_of(fact)
