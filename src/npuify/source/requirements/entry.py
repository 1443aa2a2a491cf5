"""One requirement of a package, and the means to change it where it stands."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Dialect = Literal["pep508", "poetry", "pipenv", "conda"]
"""How a version is written: ``==2.1``, ``2.1`` (Poetry's word for exactly this), ``==2.1`` as a value, ``=2.1``."""


class UnreadableRequirements(Exception):
    """The file is not what its name says. ``line`` is 0 where no line can be named."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Spot(NamedTuple):
    """A change: put ``text`` in place of what stands from ``start`` to ``end``."""

    start: int
    end: int
    text: str


class Entry(NamedTuple):
    """One requirement. Offsets count bytes of the text as UTF-8."""

    name: str
    """Normalised as PEP 503 says: ``torch_npu`` is ``torch-npu``."""
    specifier: str | None
    """The versions asked for, as PEP 440 writes them; empty for any; None where that cannot be told."""
    start: int
    end: int
    name_span: tuple[int, int] | None
    """None where the name cannot be changed by itself, as in the address of a repository."""
    version_span: tuple[int, int] | None
    """What another version takes the place of; None where there is no such place."""
    dialect: Dialect = "pep508"
    marker: str = ""
    """What follows the semicolon, as it is written."""
    url: str = ""
    group: str = ""
    """The list in which it stands."""
    is_main: bool = True
    """Whether the list is installed always, and not only when asked for."""
    removal: Spot | None = None
    """Takes it out; a line that bears a comment is turned into a comment, so that none is lost."""
    following: tuple[Spot, ...] | None = None
    """Puts another requirement after it, for ``{}`` in their texts; None where that cannot be done."""
    has_hashes: bool = False


class Document(NamedTuple):
    """What one file asks for."""

    text: str
    """Latin-1: one character a byte."""
    entries: list[Entry]
    pip_list: Spot | None = None
    """In an environment file of conda: where requirements for pip may be put, each line of them for ``{}``."""
    locked_by: str = ""
    """The program that wrote the file, where no person does."""


_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_PART = re.compile(r"\s*(?:===|==|~=|!=|<=|>=|<|>)\s*[^\s,;)#'\"<>=!~]+\s*")
_EXTRAS = re.compile(r"\s*\[[^\]]*\]")
_REPOSITORY = re.compile(r"(?:git|hg|svn|bzr)\+\S+|https?://\S+|[\w./~-][\w./+%~-]*\.whl(?=\s|$)")
"""The address of a repository or a wheel, or the path of a wheel."""
_WHEEL = re.compile(r"(?:^|/)([A-Za-z0-9_.]+)-(\d[^-/]*)-[^/]*\.whl")


def normal(name: str) -> str:
    """A package's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str, start: int, end: int) -> Entry | None:
    """The PEP 508 requirement, or the address of a wheel or repository, in ``text[start:end]``.

    None where it is neither. The entry knows nothing of its surroundings yet.
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    address = _REPOSITORY.match(text, start, end)
    if address is not None:
        return _from_address(address)
    match = _NAME.match(text, start, end)
    if match is None:
        return None
    at = match.end()
    extras = _EXTRAS.match(text, at, end)
    after_name = extras.end() if extras else at
    at = _skip(text, after_name, end)
    if at < end and text[at] == "@":
        return _by_address(text, start, end, match, after_name, at)
    open_bracket = at < end and text[at] == "("
    first = _skip(text, at + 1, end) if open_bracket else at
    at = first
    while True:
        part = _PART.match(text, at, end)
        if part is None:
            break
        at = part.end()
        if at < end and text[at] == ",":
            at += 1
    last = len(text[first:at].rstrip()) + first
    specifier = checked(text[first:last])
    if open_bracket:
        if at >= end or text[at] != ")":
            return None
        at = _skip(text, at + 1, end)
    rest = text[at:end]
    if rest and rest[0] != ";":
        return None
    if specifier is None:
        return None
    span = (first, last) if last > first else (after_name, after_name)
    marker = rest[1:].strip()
    return Entry(normal(match.group()), specifier, start, end, match.span(), span, marker=marker)


def _skip(text: str, at: int, end: int) -> int:
    while at < end and text[at] in " \t":
        at += 1
    return at


def _by_address(text: str, start: int, end: int, name: re.Match[str], after_name: int, at: int) -> Entry:
    rest = text[at + 1 : end]
    address, _, marker = rest.partition(" ;") if " ;" in rest else (rest, "", "")
    stop = at + 1 + len(address.rstrip())
    address = address.strip()
    wheel = _WHEEL.search(address.replace("%2B", "+"))
    specifier = checked(f"=={wheel.group(2)}") if wheel else None
    span = (after_name, stop)
    return Entry(normal(name.group()), specifier, start, end, name.span(), span, marker=marker.strip(), url=address)


def _from_address(match: re.Match[str]) -> Entry | None:
    address = match.group()
    wheel = _WHEEL.search(address.replace("%2B", "+"))
    if wheel is not None:
        return Entry(
            normal(wheel.group(1)), checked(f"=={wheel.group(2)}"), *match.span(), None, match.span(), url=address
        )
    egg = re.search(r"[#&]egg=([\w.-]+)", address)
    path = re.sub(r"[#?].*", "", address)
    path = re.sub(r"(?<=[^/:])@[^/@]*(?:/[^/@]*)*$", "", path.partition("://")[2])
    name = egg.group(1) if egg else path.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if not name or not _NAME.fullmatch(name):
        return None
    return Entry(normal(name), None, *match.span(), None, None, url=address)


def checked(specifier: str) -> str | None:
    """``specifier`` in its plain form, or None where it is none; local versions stay, since they matter."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    plain = re.sub(r"\s+", "", specifier).rstrip(",")
    try:
        SpecifierSet(plain)
    except InvalidSpecifier:
        return None
    return plain


LINE_END = re.compile(r"\r\n|\r|\n")


def line_start(text: str, at: int) -> int:
    """The offset at which the line of ``at`` begins."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def line_end(text: str, at: int) -> int:
    """The offset at which the line of ``at`` ends, before its line end."""
    match = LINE_END.search(text, at)
    return match.start() if match else len(text)


def next_line(text: str, at: int) -> int:
    """The offset at which the line after that of ``at`` begins."""
    match = LINE_END.search(text, at)
    return match.end() if match else len(text)


def newline(text: str) -> str:
    """The line end that the text uses first."""
    match = LINE_END.search(text)
    return match.group() if match else "\n"


def without_line(text: str, start: int, end: int) -> Spot:
    """Takes out the lines of ``start`` to ``end``, or makes a comment of a line that bears one."""
    first, last = line_start(text, start), line_end(text, end)
    if "#" in text[end:last]:
        indent = first + len(text[first:]) - len(text[first:].lstrip(" \t"))
        return Spot(indent, indent, "# ")
    stop = next_line(text, end)
    if stop == last and first > 0:
        # The last line has no line end: the one before it goes instead.
        first -= 2 if text[first - 2 : first] == "\r\n" else 1
    return Spot(first, stop, "")


def braces_escaped(text: str) -> str:
    """``text`` for use in a template that ``str.format`` fills."""
    return text.replace("{", "{{").replace("}", "}}")
