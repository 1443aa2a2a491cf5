"""What is said of a place that concerns CUDA and that nothing is known of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase
from npuify.model import Evidence, Finding, Position, Safety, Severity
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.rules.context import PythonFile
    from npuify.source.text import Text

_RUNNERS: Final = frozenset(("exec", "eval", "compile"))
"""Functions of Python's own that run a text as code."""
_SHOWN: Final = 8
"""How many lines a finding about several places names."""


def finding_of(
    relative: str, place: Occurrence, text: Text, node: ast.AST | None, file: PythonFile | None = None
) -> Finding:
    """The finding about one place, whose innermost syntax node is ``node`` where there is one, in ``file``."""
    word = text.data[place.start : place.end].decode("utf-8", "replace")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        severity=RULE.severity,
        safety=RULE.safety,
        file=relative,
        start=Position(*text.position(place.start)),
        end=Position(*text.position(place.end)),
        message=_message(word, node, file),
        evidence=RULE.evidence,
        source=RULE.source,
        subject=word,
        only_with=only_with(node, file) if node is not None and file is not None else "",
        advice=phrase('see whether it matters on an NPU; a comment "# npuify: ignore[NPU191]" notes that it does not'),
    )


def also_at(finding: Finding, lines: Collection[int]) -> Finding:
    """The finding of several places in one file, which are one thing to look at."""
    others = sorted(set(lines) - {finding.start.line})
    if not others:
        return finding
    shown = ", ".join(map(str, others[:_SHOWN])) + (", …" if len(others) > _SHOWN else "")
    if len(others) == 1:
        message = phrase("{message}; the same on line {line}", message=finding.message, line=shown)
    else:
        message = phrase("{message}; the same on lines {lines}", message=finding.message, lines=shown)
    return msgspec.structs.replace(finding, message=message)


def _message(word: str, node: ast.AST | None, file: PythonFile | None) -> str:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.alias)):
        return phrase("nothing is known of {word}, which is imported here", word=word)
    if isinstance(node, ast.keyword):
        return phrase("what the argument {word} does on an NPU is not known", word=word)
    runner = _runner(node, file) if isinstance(node, ast.Constant) and file is not None else ""
    if runner:
        return phrase(
            "{runner}() runs this text as code, which is not migrated: {word} stands in it", runner=runner, word=word
        )
    if isinstance(node, ast.Constant):
        return phrase("what becomes of {word} in this string is not known", word=word)
    return phrase("what {word} stands for is not known", word=word)


def _runner(node: ast.Constant, file: PythonFile) -> str:
    """The function that runs a text as code: it is given the text itself, or a name that is bound to nothing else."""
    parent = file.parent(node)
    given: list[ast.AST] = [node]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        given += file.model.references(parent.targets[0].id)
    for one in given:
        call = file.model.parent(one)
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if isinstance(call, ast.Call) and name in _RUNNERS and call.args[:1] == [one]:
            return name
    return ""


def _documentation(node: object, file: object) -> Iterator[object]:
    """A place concerns CUDA, and neither a rule nor the program model knows what becomes of it on an NPU.

    Nothing is wrong with it for sure: it is an argument of a package that npuify does not know, a string whose use
    cannot be followed, a method of an object that may be anything. ``npuify explain FILE:LINE`` shows what is known.
    """
    raise NotImplementedError("what no rule accounts for is found by the ledger")


RULE = list_rule(
    Rule(
        "NPU191",
        "not-understood",
        Safety.MANUAL,
        Severity.INFO,
        Evidence.ASSUMED,
        "the ledger of places that concern CUDA",
        (),
        (),
        _documentation,
    )
)
"""Listed with the rules; its findings come from the ledger."""
