"""Scripts with holes that do not look like a shell's variables: ``@@{name}``. Comments are in the user's language."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from npuify.language import ENGLISH, phrase, spoken
from npuify.language.shell import command_in_language, comments_behind, refusals, refusals_in_language

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Script(string.Template):
    delimiter = "@@"


def filled(text: str, **values: str) -> str:
    """A template with all its holes filled.

    Raises:
        KeyError: a hole has no value.
    """
    return _Script(in_language(text)).substitute(values)


_LINE = r"# (?!shellcheck)[A-Za-z(@].*"
_COMMENT = re.compile(rf"^([ \t]*){_LINE}(?:\n\1{_LINE})*$", re.MULTILINE)


def comments(text: str) -> Iterator[str]:
    """What people read in a script, one text each: comments in lines of their own, those behind commands, refusals."""
    for match in _COMMENT.finditer(text):
        yield _joined(match)
    yield from comments_behind(_COMMENT.sub("", text))
    yield from refusals(text)


def in_language(text: str) -> str:
    """A script with its comments in the user's language; in English as it is."""
    if spoken() == ENGLISH:
        return text
    return _COMMENT.sub(_told, command_in_language(refusals_in_language(text)))


def _joined(comment: re.Match[str]) -> str:
    return " ".join(line.strip().removeprefix("# ") for line in comment.group().split("\n"))


def _told(comment: re.Match[str]) -> str:
    text = _joined(comment)
    said = phrase(text)
    if said == text:
        return comment.group()
    # One sentence a line: Chinese has no blanks to break lines at.
    sentences = re.findall(r"[^。]+。?", said)
    return "\n".join(f"{comment[1]}# {sentence}" for sentence in sentences)
