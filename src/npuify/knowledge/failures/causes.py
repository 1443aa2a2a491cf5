"""What is known of failures on the NPU: codes, texts in logs, and the causes that they point at."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase, sentences
from npuify.language.shell import command_in_language
from npuify.model import Evidence, Explanation, NpuifyError

Role = Literal["cause", "consequence", "wrapper", "hint", "stop", "noise"]


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``causes.toml``; its head says what the fields mean."""

    id: str
    title: str
    why: str
    fix: str
    commands: tuple[str, ...]
    late: bool = False
    question: str = ""
    answers: tuple[tuple[str, str], ...] = ()


class CodeFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``errors.toml``."""

    code: tuple[str, ...]
    grammar: Literal["torch_npu", "acl", "aclnn", "cann", "hccl"]
    meaning: str
    role: Role
    cause: str
    evidence: Evidence
    source: str
    family: bool = False


class ExceptionFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``exceptions.toml``; its head says what the fields mean."""

    kind: tuple[str, ...] = ()
    errno: tuple[int, ...] = ()
    chinese: tuple[str, ...] = ()
    cause: str
    weight: int = 36
    evidence: Evidence
    source: str
    why: str = ""
    fix: str = ""


class TextFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``failures.toml``."""

    name: str
    words: tuple[str, ...]
    pattern: str
    role: Role
    cause: str
    weight: int
    evidence: Evidence
    source: str
    example: str
    loud: bool = False
    why: str = ""
    fix: str = ""


class HeaderCodes(msgspec.Struct, frozen=True):
    """``error_codes.json``: a number's constant, and its words."""

    torch_npu: str
    wheel: str
    sha256: str
    acl: dict[str, tuple[str, str]]
    hccl: dict[str, tuple[str, str]]


MODULES = {"00": "PTA", "01": "OPS", "02": "DIST", "03": "GRAPH", "04": "PROF", "99": "unknown"}
"""The first two digits of a torch_npu code. Source: torch_npu/utils/_error_code.py."""

_FAMILIES = {
    "EI": "HCCL",
    "EJ": "HCCL's service on the card",
    "EE": "the runtime",
    "EH": "ACL",
    "EL": "the driver",
    "EZ": "operators",
}


@cache
def causes() -> dict[str, Cause]:
    """Every cause, by its id."""
    return {row.id: row for row in read_rows(DATA / "causes.toml", "cause", Cause)}


@cache
def code_facts() -> tuple[CodeFact, ...]:
    """Every row about codes.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / "errors.toml", "error", CodeFact))
    for row in rows:
        check_cause(row.cause, "errors.toml", optional=row.role == "wrapper")
    return rows


@cache
def text_facts() -> tuple[TextFact, ...]:
    """Every row about texts.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / "failures.toml", "failure", TextFact))
    for row in rows:
        check_cause(row.cause, "failures.toml", optional=row.role == "noise")
    return rows


def check_cause(cause: str, file: str, *, optional: bool = False) -> None:
    """Refuse a row with a cause that does not exist.

    Args:
        cause: its id.
        file: the table in which the row stands.
        optional: whether a row may have none.

    Raises:
        NpuifyError: there is no such cause.
    """
    if cause not in causes() and not (optional and not cause):
        raise NpuifyError(phrase("there is no cause {cause!r}", cause=cause), file=str(DATA / file))


@cache
def exception_facts() -> tuple[ExceptionFact, ...]:
    """Every row about kinds of exceptions and numbers of the system's errors.

    Raises:
        NpuifyError: a row names a cause that does not exist.
    """
    rows = tuple(read_rows(DATA / "exceptions.toml", "exception", ExceptionFact))
    for row in rows:
        check_cause(row.cause, "exceptions.toml", optional=False)
    return rows


@cache
def _by_kind() -> tuple[dict[str, ExceptionFact], dict[int, ExceptionFact]]:
    kinds = {kind: row for row in exception_facts() for kind in row.kind}
    return kinds, {number: row for row in exception_facts() for number in row.errno}


def exception_fact(kind: str, errno: int | None = None) -> ExceptionFact | None:
    """What is known of an exception by its kind alone; None where it is nothing.

    Args:
        kind: its name as a traceback writes it: ``KeyError``, ``yaml.scanner.ScannerError``.
        errno: the system's number of the error, where the message has one: it says more than the kind.
    """
    kinds, numbers = _by_kind()
    if errno in numbers:
        return numbers[errno]
    parts = kind.split(".")
    whole = (".".join(parts[start:]) for start in range(len(parts)))
    ends = (f"{parts[0]}.*.{parts[-1]}", f"{parts[0]}.*") if len(parts) > 1 else ()
    return next((kinds[name] for name in (*whole, *ends) if name in kinds), None)


@cache
def header_codes() -> HeaderCodes:
    """The numbers that the headers of torch_npu define."""
    return msgspec.json.decode((DATA / "error_codes.json").read_bytes(), type=HeaderCodes)


@cache
def _numbers() -> dict[str, str]:
    """The number of each constant of ACL."""
    return {name: number for number, (name, _) in header_codes().acl.items()}


@cache
def _by_code() -> tuple[dict[str, CodeFact], tuple[tuple[re.Pattern[str], CodeFact], ...]]:
    exact: dict[str, CodeFact] = {}
    patterns = []
    for row in code_facts():
        for code in row.code:
            if "*" in code:
                patterns.append((re.compile(code.replace("*", r"\d")), row))
            else:
                exact[code] = row
    return exact, tuple(patterns)


def code_fact(code: str) -> CodeFact | None:
    """The row of a code as a log writes it: ``EI0006``, ``507015``, ``ERR00100``; None where there is none."""
    exact, patterns = _by_code()
    if code in exact:
        return exact[code]
    return next((row for pattern, row in patterns if pattern.fullmatch(code)), None)


def explain_failure(what: str) -> Explanation | None:
    """What ``npuify explain`` says of a code, of a text's name or of a cause; None where it is none of them."""
    headers = header_codes()
    code = what.strip().upper()
    code = _numbers().get(code, code)
    fact = code_fact(code)
    named = headers.acl.get(code)
    if fact is not None or named is not None:
        lines = []
        if named is not None:
            lines.append(phrase("{name}: {message}", name=named[0], message=named[1]))
        if fact is not None:
            lines.append(phrase("{grammar}: {meaning}.", grammar=_grammar(code, fact), meaning=fact.meaning))
            if fact.role == "consequence":
                lines.append("It tells what this rank saw; the cause is usually on another rank.")
            if fact.cause:
                lines += _told(causes()[fact.cause])
        evidence = fact.evidence if fact is not None else Evidence.PACKAGE
        source = fact.source if fact is not None else phrase("headers in {wheel}", wheel=headers.wheel)
        return Explanation(code, "error code", tuple(lines), (), source, evidence)
    for number, (name, words) in headers.hccl.items():
        if name == code:
            lines = [
                phrase(
                    '{name}: {words}; "error code is {number}" after "HCCL function error".',
                    name=name,
                    words=words,
                    number=number,
                )
            ]
            return Explanation(
                code,
                "error code",
                tuple(lines),
                (),
                phrase("headers in {wheel}", wheel=headers.wheel),
                Evidence.PACKAGE,
            )
    text = next((row for row in text_facts() if row.name == what), None)
    if text is not None:
        lines = [phrase("In logs: {example}", example=text.example), *_text_told(text)]
        return Explanation(what, "failure", tuple(lines), (), text.source, text.evidence)
    if what in causes():
        return Explanation(
            what, "cause of failures", tuple(_told(causes()[what])), (), "causes.toml", Evidence.DOCUMENTED
        )
    return None


def explain_message(what: str) -> Explanation | None:
    """What ``npuify explain`` says of a message, or of a part of one; None where no row knows it, or too many do."""
    rows = [row for row in text_facts() if row.role != "noise"]
    said = [row for row in rows if any(word in what for word in row.words) and re.search(row.pattern, what)]
    if not said and len(what) >= _LEAST and " " in what:
        part = what.lower()
        said = [row for row in rows if part in row.example.lower()]
    if not said or len({row.cause for row in said}) > _MANY:
        return None
    best = max(said, key=lambda row: row.weight)
    lines = [phrase("In logs: {example}", example=best.example), *_text_told(best)]
    return Explanation(what, "message", tuple(lines), (), best.source, best.evidence)


def explain_exception(what: str) -> Explanation | None:
    """What ``npuify explain`` says of an exception by its kind: ``queue.Empty``; None where nothing is known of it."""
    fact = exception_fact(what)
    if fact is None:
        return None
    cause = causes()[fact.cause]
    lines = _told(msgspec.structs.replace(cause, why=fact.why or cause.why, fix=fact.fix or cause.fix))
    return Explanation(what, "exception", tuple(lines), (), fact.source, fact.evidence)


_LEAST = 6
"""Characters from which a part of a message says something."""
_MANY = 3
"""Causes above which a part of a message says nothing."""


def _grammar(code: str, fact: CodeFact) -> str:
    if fact.grammar == "torch_npu":
        return phrase("torch_npu, module {get}", get=MODULES.get(code[3:5], code[3:5]))
    if fact.grammar == "cann":
        return phrase("CANN, {family}", family=_FAMILIES.get(code[:2], "compiler and card"))
    return {"acl": "ACL", "aclnn": "an operator's interface (aclnn)", "hccl": "HCCL"}[fact.grammar]


def _text_told(text: TextFact) -> list[str]:
    if text.role == "noise":
        return [phrase("It says nothing about a failure: {why}.", why=text.why)]
    cause = causes()[text.cause]
    return _told(msgspec.structs.replace(cause, why=text.why or cause.why, fix=text.fix or cause.fix))


def _told(cause: Cause) -> list[str]:
    lines = [
        sentences(phrase("Cause: {title}.", title=cause.title), cause.why),
        phrase("What to do: {fix}", fix=cause.fix),
    ]
    lines += [f"  {command_in_language(command)}" for command in cause.commands]
    if cause.late:
        lines.append("The Python stack beside it is late: run again with ASCEND_LAUNCH_BLOCKING=1 for the true one.")
    if cause.question:
        lines.append(cause.question)
        lines += ["  " + phrase("{answer}: {todo}", answer=phrase(answer), todo=todo) for answer, todo in cause.answers]
    return lines
