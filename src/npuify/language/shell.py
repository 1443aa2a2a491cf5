"""What people read in commands and scripts of a shell, in the user's language: comments, and why a script ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEHIND: Final = re.compile(
    r"(?<=\S)(?P<gap> +)# (?!shellcheck)(?=[^\n#]*[a-z]{2})(?P<text>[A-Za-z(][^\n#]* [^\n#]* [^\n#]*[^\s#])(?=$| # )",
    re.MULTILINE,
)
"""A comment behind a command: three words or more."""

_REFUSAL: Final = re.compile(r"(?<=\bfail \")(?P<text>[^\"\n]+)(?=\")")
"""Why a script ends, as the function ``fail`` of the scripts is told; the variables in it stay."""


def comments_behind(commands: str) -> Iterator[str]:
    """The comments behind commands, each as one text."""
    for match in _BEHIND.finditer(commands):
        yield match["text"]


def command_in_language(commands: str) -> str:
    """Commands to show, with the comments behind them in the user's language."""
    return _BEHIND.sub(lambda match: f"{match['gap']}# {phrase(match['text'])}", commands)


def refusals(script: str) -> Iterator[str]:
    """Why a script may end, each as one text with the shell's variables in it."""
    for match in _REFUSAL.finditer(script):
        yield match["text"]


def refusals_in_language(script: str) -> str:
    """A script that says in the user's language why it ends."""
    return _REFUSAL.sub(lambda match: phrase(match["text"]), script)
