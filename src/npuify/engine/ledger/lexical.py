"""What the text of a Python file alone tells about a place: a comment, a docstring, a text, a name nobody else has."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from npuify.engine.ledger.answer import Cleared
from npuify.engine.ledger.names_as_texts import is_option_asked_for
from npuify.knowledge.hand_written import environment
from npuify.language import phrase
from npuify.source.python.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from npuify.engine.ledger.vocabulary import Occurrence

_TOKEN = re.compile(
    rb"""(?P<string>[rRbBuUfFtT]{0,2}(?:'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))|(?P<comment>#[^\n]*)|[^"'#\n]+?(?=[rRbBuUfFtT]{0,2}["']|\#|\n|\Z)|["']""",
    re.DOTALL,
)
_CODE = re.compile(
    rb"torch\.(?:cuda|device|backends|distributed)|\bimport |\.cuda\(|CUDA_VISIBLE|NCCL_[A-Z]"
    rb"|nvidia-smi|#include|__global__|at::|device ?= ?[\"']cuda"
)
"""What in a text of several words may be code, a command or a variable."""
_DEVICE = re.compile(rb"(?i)(?:cuda|gpu|nccl|nvidia)(?::.*)?|[\w:,]*(?:cuda|cpu):(?:nccl|gloo)[\w:,]*", re.DOTALL)
_TAKEN_APART = re.compile(
    rb"[\s)]*\.\s*(?:r?split|splitlines|r?partition|[lr]?strip|replace|removeprefix|removesuffix|lower|upper|casefold|title|capitalize|swapcase|translate|format|format_map|encode)[\s)]*\("
)
"""What follows a text that code reads."""
_SOUGHT_IN = re.compile(rb"[\s)]*\.\s*(?:r?find|r?index|count|__contains__|startswith|endswith)[\s)]*\(")
"""What follows a text of words in which another one is sought: ``"cuda mps".find(kind)``."""
_READING = re.compile(rb"(?:\bloads?|safe_load|literal_eval|StringIO|read_string|shlex\.split)[\s)]*\([\s(]*\Z")
"""What stands before one."""
_HELD_AGAINST = re.compile(rb"(?:\bin\b[\s(]*|\bnamedtuple[\s)]*\([\s(]*[^()]*[\s)]*,[\s(]*)(?:#[^\n]*\n\s*)?\Z")
"""What stands before a text of words of which each counts: ``kind in "cuda mps"``, the fields of a namedtuple."""
_LISTED = re.compile(rb"(?:\w+[\s,|]+)*cuda(?:[\s,|]+\w+)*")
_AMONG_TEXT = re.compile(rb"[\"'=]cuda[\"':]")
"""A device in what a device says of itself: ``device(type='cuda')``."""
_OPTION = re.compile(rb"--?[a-zA-Z][\w-]*(?:=.*)?", re.DOTALL)
_MACRO = re.compile(rb"-D\w+(?:=.*)?")
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_VARIABLE = re.compile(rb"([A-Z][A-Z0-9_]+)(?:=.*)?", re.DOTALL)
_PREFIXES = frozenset(b"rRuUbB")
_CONTINUES = frozenset(b"(,[{=+%\\")
"""What a literal that follows it in the next line is a part of."""


class Lexical:
    """The text of one Python file.

    Args:
        data: the text as UTF-8.
        api: identifiers that torch and the packages made for CUDA have.
        outline: that of the text, where it is known.
    """

    def __init__(self, data: bytes, api: AbstractSet[str], outline: Outline | None = None) -> None:
        self._data = data
        self._api = api
        self._outline = outline or Outline(data)
        self._begin = self._line_end = 0
        self._tokens: list[re.Match[bytes]] = []
        self._token_ends: list[int] = []

    def cleared(self, place: Occurrence) -> Cleared | None:
        """Why a place needs nothing; None where the text does not tell."""
        if self._outline.is_text(place.start):
            return self._text(place)
        if self._outline.literal_at(place.start) is not None:
            return None
        token = self._token_at(place.start)
        if token is None:
            return None
        if token.group("comment"):
            return Cleared("comment")
        if token.group("string"):
            return self._string(token, place)
        return self._name(place)

    def _token_at(self, offset: int) -> re.Match[bytes] | None:
        """The token around an offset, of the line that it stands in: places are asked about in order."""
        data = self._data
        behind_literal = self._outline.literal_before(offset)
        if offset >= self._line_end or behind_literal > self._begin:
            self._begin = max(data.rfind(b"\n", 0, offset) + 1, behind_literal)
            end = data.find(b"\n", offset)
            self._line_end = end if end >= 0 else len(data)
            self._tokens = list(_TOKEN.finditer(data, self._begin, self._line_end))
            self._token_ends = [token.end() for token in self._tokens]
        index = bisect_right(self._token_ends, offset)
        return self._tokens[index] if index < len(self._tokens) else None

    def _text(self, place: Occurrence) -> Cleared | None:
        """A comment, or a literal of several lines."""
        span = self._outline.literal_at(place.start)
        if span is None:
            return Cleared("comment")
        data, start = self._data, span[0]
        while start and data[start - 1] in _PREFIXES:
            start -= 1
        if data[data.rfind(b"\n", 0, start) + 1 : start].strip():
            return None
        while start and data[start - 1] in b" \t\r\n":
            start -= 1
        if start and data[start - 1] in _CONTINUES:
            return None
        return Cleared("docstring")

    def _string(self, match: re.Match[bytes], place: Occurrence) -> Cleared | None:
        token = match.group()
        quote = min(index for index in (token.find(b'"'), token.find(b"'")) if index >= 0)
        prefix, body = token[:quote].lower(), token[quote + 1 : -1]
        if (b"f" in prefix or b"t" in prefix) and b"{" in body and _inside_braces(token, place, self._data):
            return None
        if _AMONG_TEXT.search(body):
            return None
        before = max(0, match.start() - 40)
        if _TAKEN_APART.match(self._data, match.end()) or _READING.search(self._data, before, match.start()):
            return None
        if body == b"--cuda" and is_option_asked_for(self._data):
            return None
        if _LISTED.fullmatch(body) and (
            _HELD_AGAINST.search(self._data, before, match.start()) or _SOUGHT_IN.match(self._data, match.end())
        ):
            return None
        return cleared_text(body, self._api)

    def _name(self, place: Occurrence) -> Cleared | None:
        data = self._data
        name = data[place.start : place.end].decode("utf-8", "replace")
        if name in self._api:
            return None
        follows = data[place.end : place.end + 4].lstrip()
        is_keyword = follows[:1] == b"=" and follows[1:2] != b"="
        if is_keyword:
            before = data[max(0, place.start - 120) : place.start].rstrip()
            if before[-1:] in (b"(", b","):
                return None
        line = data[data.rfind(b"\n", 0, place.start) + 1 : place.start].lstrip()
        if line.startswith((b"import ", b"from ")):
            return None
        if data[place.start - 1 : place.start] == b".":
            return Cleared("unknown-to-torch", phrase("an attribute {name}", name=name))
        return Cleared("own-name", name)


def _inside_braces(token: bytes, place: Occurrence, data: bytes) -> bool:
    """Whether a place in an f-string is code, not text."""
    start = data.rfind(token, 0, place.end)
    before = data[start : place.start]
    before = before.replace(b"{{", b"").replace(b"}}", b"")
    return before.count(b"{") > before.count(b"}")


def cleared_text(body: bytes, api: AbstractSet[str]) -> Cleared | None:
    """Why a string needs nothing, by its text alone; None where that depends on what is done with it."""
    if _MACRO.fullmatch(body):
        return Cleared("build-flag")
    if _OPTION.fullmatch(body):
        return Cleared("option-name")
    # In quotes or brackets it is how a device's text may be shown: "'cuda'" is what repr() gives.
    if _DEVICE.fullmatch(body.strip(b"'\"<>()[]{},")) or _CODE.search(body) or _names_variable(body):
        return None
    if b" " in body or b"\n" in body:
        return Cleared("text")
    if b"/" in body or b"\\" in body:
        return Cleared("path")
    last = body.decode("utf-8", "replace").rpartition(".")[2]
    if last in api or body.partition(b".")[0].decode("utf-8", "replace") in ("torch", *api):
        return None
    return Cleared("key" if _IDENTIFIER.fullmatch(body) else "other-string", phrase("names nothing of torch or CUDA"))


def _names_variable(body: bytes) -> bool:
    """Whether a string is an environment variable that means something to CUDA, or sets one."""
    match = _VARIABLE.fullmatch(body)
    return match is not None and match.group(1).decode() in environment()
