"""Whose a library, header, command or name is that is missing, or fails; and errors of the system by their words."""

from __future__ import annotations

import errno
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from npuify.knowledge.failures.causes import causes, check_cause, exception_fact, exception_facts
from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase, sentences
from npuify.model import Evidence  # noqa: TC001 - the type of a field

from .packages import package_fact
from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.failures.origins import OriginFact

FILE: Final = "owners.toml"

Kind = Literal["library", "command", "fails", "header", "name"]

NAMES: Final = re.compile(
    r"cannot open shared|shared librar|dynamic library|cannot find -l|not found|executable file|execve|No such file"
    r"|non-zero exit|returned exit|exited with|died with|fatal error: |NameError: "
)
"""Lines that may name a library, a header, a command, or a name of Python's that is not defined."""
_NAMED: Final[dict[Kind, tuple[re.Pattern[str], ...]]] = {
    "library": (
        re.compile(r"\blib([\w+-]+)\.so[\w.]*: cannot open shared object"),
        re.compile(
            r"(?:[Cc]ould not|[Uu]nable to|[Ff]ailed to) load (?:dynamic |shared )?library '?(?:\S*/)?lib([\w+-]+)\.so"
        ),
        re.compile(r"cannot find -l([\w+-]+)"),
    ),
    "command": (
        re.compile(r"(?:^|[\s:'\"/])([\w.+-]+): (?:command )?not found\b"),
        re.compile(r"exec: \"(?:\S*/)?([\w.+-]+)\": (?:executable file not found|stat)"),
        re.compile(r"execve\(\): (?:\S*/)?([\w.+-]+): No such file"),
        re.compile(r"No such file or directory: ['\"]([A-Za-z][\w+-]*)['\"]"),
        re.compile(r"/s?bin/([\w.+-]+): No such file"),
        re.compile(r"\b([a-z][\w+-]*) not found in \["),
    ),
    "fails": (
        re.compile(r"[Cc]ommand '?\[?'(?:[^'\s]*/)?([\w.+-]+)[' ].*(?:non-zero exit|died with|exit (?:status|code))"),
    ),
    "header": (
        re.compile(r"fatal error: ['\"]?([\w./+-]+?)['\"]?(?: file not found|: No such file)"),
    ),
    "name": (
        re.compile(r"NameError: (?:global )?name '(\w+)' is not defined"),
    ),
}  # fmt: skip
_SYSTEM: Final = re.compile(r"\[system:(\d+)\]|\(os error (\d+)\)|\[Errno (\d+)\]|\bOs \{ code: (\d+)")
"""How Boost, Rust and Python write the system's number of an error."""
_NOT_BY_WORDS: Final = {errno.EPERM, errno.ENOENT, errno.EINVAL, errno.EEXIST, errno.EDOM, errno.ERANGE, errno.ENODATA}
"""Numbers whose words are said of other things as well."""
_WEIGHT: Final = 40


class Owner(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``owners.toml``; its head says what the fields mean."""

    name: str
    kind: Kind
    names: str
    cause: str
    weight: int
    evidence: Evidence
    source: str
    why: str = ""
    fix: str = ""
    package: str = ""


@cache
def owners() -> tuple[tuple[re.Pattern[str], Owner], ...]:
    """Every row with its pattern.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / FILE, "owner", Owner))
    for row in rows:
        check_cause(row.cause, FILE)
    return tuple((re.compile(row.names), row) for row in rows)


def match_of(row: Owner | OriginFact) -> Match:
    """What a row says of the cause."""
    return Match(
        name=row.name,
        meaning=row.why or row.name.replace("-", " "),
        cause=row.cause,
        role="cause",
        weight=row.weight,
        evidence=row.evidence,
        source=row.source,
        why=row.why,
        fix=row.fix,
    )


def owner_match(text: str) -> Match | None:
    """What it says that a library or command is missing, or fails, by whose it is; None where nobody's is named.

    Args:
        text: a line.
    """
    for kind, name in _named(text):
        row = next((row for names, row in owners() if row.kind == kind and names.fullmatch(name)), None)
        if row is not None:
            return _of_package(name, row) if row.package and not row.why else match_of(row)
    return None


def _of_package(name: str, row: Owner) -> Match:
    """What it says that a name is not defined which a package has: its import failed, and was passed over."""
    told = match_of(row)
    known = package_fact(row.package)
    missed = phrase(
        "{name} comes from {package}, whose import failed and was passed over.", name=name, package=row.package
    )
    if known is None:
        return told._replace(why=missed)
    return told._replace(why=sentences(missed, known.message), fix=known.advice)


def _named(text: str) -> Iterator[tuple[Kind, str]]:
    for kind, patterns in _NAMED.items():
        for pattern in patterns:
            for found in pattern.finditer(text):
                yield kind, found[1]


@cache
def _words() -> tuple[re.Pattern[str], dict[str, int]]:
    """What finds the words that the system has for its errors, and the number of each, or the first of its row."""
    numbers = {
        os.strerror(number): number
        for number in sorted(errno.errorcode, reverse=True)
        if number not in _NOT_BY_WORDS and exception_fact("", number) is not None
    }
    chinese = {words: fact.errno[0] for fact in exception_facts() for words in fact.chinese}
    pattern = rf"\b(?:{'|'.join(map(re.escape, numbers))})\b|{'|'.join(map(re.escape, chinese))}"
    return re.compile(pattern), numbers | chinese


def system_match(text: str) -> Match | None:
    """What an error of the system says, told by its number or by the words that the system has for it; else None.

    Args:
        text: a line of which nothing else is known.
    """
    found = _SYSTEM.search(text)
    words, numbers = _words()
    said = words.search(text) if found is None else None
    number = numbers[said[0]] if said is not None else None
    if found is not None:
        number = int(next(part for part in found.groups() if part))
    fact = exception_fact("", number) if number is not None else None
    if fact is None:
        return None
    return Match(
        name=f"system-error-{number}",
        meaning=fact.why or causes()[fact.cause].why,
        cause=fact.cause,
        role="cause",
        weight=min(fact.weight, _WEIGHT),
        evidence=fact.evidence,
        source=fact.source,
        why=fact.why,
        fix=fact.fix,
    )
