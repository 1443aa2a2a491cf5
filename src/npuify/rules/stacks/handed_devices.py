"""Devices of PyTorch's that a program hands to libraries which have no such word."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.flow.device_names import DEVICE_NAME
from npuify.analysis.flow.owners import owner_of_call, owner_of_given_table
from npuify.analysis.values import Kind
from npuify.knowledge.frameworks.owners import framework_of, frameworks, words
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.knowledge.frameworks.owners import Framework
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TAKES_NPU = "npu"
_SETTLED_ELSEWHERE = frozenset(("vLLM", "JAX"))
"""What has rules of its own for its devices."""
_ROWS = tuple(
    row
    for row in dict.fromkeys(frameworks().values())
    if row.device != _TAKES_NPU and row.name not in _SETTLED_ELSEWHERE
)
_NAMES = frozenset(name for row in _ROWS for name in row.arguments)


@cache
def _positions() -> Mapping[str, Mapping[int, Framework]]:
    """Which arguments of functions are devices, by the functions' last names."""
    found: dict[str, dict[int, Framework]] = {}
    for row in _ROWS:
        for text in row.positions:
            name, _, at = text.partition(":")
            found.setdefault(name, {})[int(at)] = row
    return found


def _words() -> tuple[str, ...]:
    """What stands on the line of such an argument."""
    called = (f".{name}(" if len(name) < 4 else name.lower() for name in sorted(_positions()))
    return (*(f"{name}=" for name in sorted(_NAMES)), *called)


@rule(
    "NPU979",
    "device-handed-to-another-library",
    Safety.MANUAL,
    words=_words(),
    also_in_file=tuple(word.lower() for word in words()),
    common_words=True,
    evidence=Evidence.PACKAGE,
    source="the table of frameworks; npuify says the source with each finding",
)
def device_handed_to_another_library(node: ast.keyword | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A device of PyTorch's is handed to a library that has no such word: it is ``npu`` after the migration.

    What the variable holds is right for PyTorch, so that it becomes ``npu`` where it is made. The library then raises,
    or has a word of its own: give it the CPU, or that word, at this place.
    """
    if isinstance(node, ast.keyword):
        call = file.parent(node)
        if node.arg not in _NAMES or not isinstance(call, ast.Call):
            return
        is_table = isinstance(call.func, ast.Name) and call.func.id == "dict"
        owner = (
            owner_of_given_table(call, file.model, file.reaching(Reach.FILE))
            if is_table
            else owner_of_call(call, file.model) or _owner_of_base(call, file)
        )
        if owner is not None and node.arg in owner.arguments:
            yield from _handed(node.value, owner, file)
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    places = _positions().get(name)
    owner = owner_of_call(node, file.model) if places else None
    for at, row in (places or {}).items():
        if row is owner and at < len(node.args):
            yield from _handed(node.args[at], owner, file)


_CLASS: Final = re.compile(rb"^class[ \t]+([^\s(]+)\(([\w.]+)", re.MULTILINE)


def _owner_of_base(call: ast.Call, file: PythonFile) -> Framework | None:
    """The framework from whose class one of the file's own derives that is called.

    The file's text tells: a class that holds none of the rules' words is not parsed.
    """
    if not isinstance(call.func, ast.Name):
        return None
    bases: dict[bytes, bytes] | None = file.recall("first bases of classes")
    if bases is None:
        listed = _CLASS.findall(file.source.data) if b"class" in file.source.data else []
        bases = file.remember("first bases of classes", dict(reversed(listed)))
    base = bases.get(call.func.id.encode(), b"").decode()
    if base and "." not in base:
        imported = re.search(
            rb"(?m)^from[ \t]+([\w.]+)[ \t]+import[ \t(][^\r\n]*\b%b\b" % base.encode(), file.source.data
        )
        base = f"{imported.group(1).decode()}.{base}" if imported is not None else ""
    return framework_of(base) if base else None


def _handed(value: ast.expr, owner: Framework, file: PythonFile) -> Iterator[Diagnostic]:
    is_own = not file.project.packages.isdisjoint(owner.modules)
    if owner not in _ROWS or is_own or isinstance(value, ast.Constant):
        return
    if isinstance(value, ast.IfExp) and all(isinstance(one, ast.Constant) for one in (value.body, value.orelse)):
        return  # the rule for words tells of each
    known = file.values(value, Reach.PROGRAM)
    sure = bool(known.of_kind(Kind.DEVICE, Kind.DEVICE_STRING))
    is_told = len(known) > 0 and all(one.kind is Kind.NONE or (one.kind is Kind.STRING and one.name) for one in known)
    called = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    if not sure and (is_told or not (file.denotes_device(value) or DEVICE_NAME.search(called))):
        return
    said = {one.name for one in known if one.name and one.kind in (Kind.STRING, Kind.DEVICE_STRING)}
    if owner.name == "Lightning" and said and not known.of_kind(Kind.DEVICE):
        message = phrase(
            "{value} is one of Lightning's words here ({words}), and stays; {message}",
            value=file.code(value),
            words=commas(sorted(said)),
            message=phrase(owner.message),
        )
    else:
        message = phrase(
            "{value} may be a device of PyTorch's, which is npu after the migration; {message}",
            value=file.code(value),
            message=phrase(owner.message),
        )
    yield file.report(
        value,
        message,
        severity=Severity.ERROR if sure else Severity.WARNING,
        evidence=owner.evidence,
        source=owner.source,
        subject=phrase("{name}: a device of PyTorch's", name=owner.name),
        advice=owner.advice,
    )
