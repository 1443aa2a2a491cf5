"""Arguments of other libraries that mean CUDA: ``tf32=True``, ``optim="adamw_bnb_8bit"``. The rows are data."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from npuify.knowledge import arguments
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.defaults.conditions import by_default
from npuify.rules.common.packages.import_guards import is_asked_for
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge import ArgumentFact
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_STANDS_ON = {"transformers": ("trl", "sentence_transformers")}
"""Libraries whose classes derive from those of another one, and take its arguments."""


@cache
def _by_name() -> dict[str, list[ArgumentFact]]:
    found: dict[str, list[ArgumentFact]] = {}
    for row in arguments():
        found.setdefault(row.keyword or row.method, []).append(row)
    return found


def _words() -> tuple[str, ...]:
    words: set[str] = set()
    for row in arguments():
        if row.method:
            words.add(row.method)
        elif row.values:
            words |= {value.rstrip("*") for value in row.values if len(value) > 6}
            words |= {f'{row.keyword}="{value}"' for value in row.values if len(value) <= 6 and value != "True"}
            # Where an option gives the value, it stands elsewhere.
            words |= {f"{row.keyword}="} if row.severity is Severity.ERROR else set()
        else:
            words.add(f"{row.keyword}=")
    return tuple(sorted(words))


@rule(
    "NPU324",
    "framework-argument",
    Safety.REVIEW,
    Severity.ERROR,
    words=_words(),
    also_in_file=tuple(
        sorted({*(row.package.lower() for row in arguments()), *(one for on in _STANDS_ON.values() for one in on)})
    ),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="table of arguments",
)
def framework_argument(node: ast.keyword | ast.Call | ast.AnnAssign, file: PythonFile) -> Iterator[Diagnostic]:
    """An argument requests a CUDA-only feature of a library.

    An edit is offered where the library has a name for the NPU's counterpart.

    Before::

        import torch
        from transformers import TrainingArguments

        arguments = TrainingArguments("out", optim="adamw_apex_fused")

    After::

        import torch
        from transformers import TrainingArguments

        arguments = TrainingArguments("out", optim="adamw_torch_npu_fused")
    """
    if isinstance(node, ast.AnnAssign):
        yield from _default_of_field(node, file)
        return
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        rows = [row for row in _by_name().get(name, ()) if row.method]
    else:
        rows = [row for row in _by_name().get(node.arg or "", ()) if row.keyword]
    for row in rows:
        holders = (row.package, *_STANDS_ON.get(row.package, ()))
        if not any(file.contains(one.encode()) for one in holders) or row.package in file.project.packages:
            continue
        if isinstance(node, ast.Call) or _means(node.value, row):
            yield _report(node, row, file)
        elif not isinstance(node.value, ast.Constant):
            yield from _asked_for(node, row, file)


def _default_of_field(node: ast.AnnAssign, file: PythonFile) -> Iterator[Diagnostic]:
    """``optim: str = field(default="paged_adamw_32bit")`` in a class made from the library's own arguments."""
    around = file.parent(node)
    if not isinstance(around, ast.ClassDef) or not isinstance(node.target, ast.Name) or node.value is None:
        return
    value: ast.expr = node.value
    if isinstance(value, ast.Call):
        value = next((one.value for one in value.keywords if one.arg == "default"), value)
    packages = {(file.qualname(base) or "").partition(".")[0] for base in around.bases}
    for row in _by_name().get(node.target.id, ()):
        if row.keyword and row.package in packages - file.project.packages and _means(value, row):
            yield _report(value, row, file)


def _means(value: ast.expr, row: ArgumentFact) -> bool:
    """Whether a literal is one that the row is about."""
    return isinstance(value, ast.Constant) and _is_meant(value.value, row)


def _is_meant(value: object, row: ArgumentFact) -> bool:
    if not row.values:
        return bool(value)
    if isinstance(value, bool):
        return str(value) in row.values
    return isinstance(value, str) and any(
        value == word or (word.endswith("*") and value.startswith(word[:-1])) for word in row.values
    )


def _asked_for(node: ast.keyword, row: ArgumentFact, file: PythonFile) -> Iterator[Diagnostic]:
    """What a program may ask for: told with the option, where its default is something else."""
    if row.severity is not Severity.ERROR:
        return
    known = by_default(node.value, file)
    if row.values and row.values != ("True",):
        # Which of many values a program will be asked for, nobody knows: its default alone is told.
        if known is not None and _is_meant(known.value, row):
            yield _report(node, row, file)
        return
    said = _report(node, row, file)
    if known is None:
        is_off = _is_off_unless_given(node.value, file)
        yield said._replace(severity=Severity.INFO if is_off else Severity.WARNING)
    elif _is_meant(known.value, row):
        yield said
    elif known.switch:
        yield said._replace(severity=Severity.WARNING, only_with=known.switch)


def _is_off_unless_given(node: ast.expr, file: PythonFile) -> bool:
    """Whether a name is a parameter that is false where a function is called without it."""
    found = file.model.scope(node).lookup(node.id) if isinstance(node, ast.Name) else None
    return found is not None and all(
        one.kind == "parameter" and isinstance(one.value, ast.Constant) and not one.value.value for one in found[1]
    )


def _report(node: ast.keyword | ast.expr, row: ArgumentFact, file: PythonFile) -> Diagnostic:
    place = node.value if isinstance(node, ast.keyword) else node
    edits = []
    if row.becomes and isinstance(place, ast.Constant):
        text = file.code(place)
        if text[:1] in "\"'" and text[0] == text[-1]:
            edits = [file.replace(place, f"{text[0]}{row.becomes}{text[0]}")]
    severity = row.severity
    if row.method and is_asked_for(node, "xformers", file):
        severity = Severity.INFO
    subject = row.keyword or row.method
    return file.report(
        node if "gpu" in row.keyword else place,  # a word of CUDA's is accounted for with its value
        row.message,
        edits=edits,
        severity=severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"{row.package}: {subject}",
        advice=row.advice,
    )
