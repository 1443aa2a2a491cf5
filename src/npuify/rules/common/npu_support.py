"""Code that is prepared for the NPU already: a branch, a list or a comparison beside it names the NPU.

Such code is left as it is. Editing its CUDA side would make two branches for the NPU and none for CUDA.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.helpers.compute_device import is_helper

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.words import Words

_NPU = re.compile(rb"(?<![a-z])(?:torch_)?npu(?![a-z])|NPU(?![A-Z])|[Aa]scend|ASCEND|hccl|HCCL")

_SAID = (b"ascend", b"Ascend", b"ASCEND", b"hccl", b"HCCL")
_UPPER = re.compile(rb"NPU(?![A-Z])")
_LOWER = re.compile(rb"npu(?![a-z])")


SUPPORT = re.compile(
    rb"is_(?:torch_)?npu_available|(?:(?<=self\.)|(?<!\.))IS_NPU(?:_AVAILABLE)?\b|IS_NPU(?=\(\))|"
    rb"hasattr\(torch, ?[\"']npu[\"']\)|class NPU_?(?:Accelerator|Platform|Backend)\b",
    re.IGNORECASE,
)
"""Text of a program that asks whether it runs on an NPU, as programs for several kinds of device do.

``x.is_npu`` asks a tensor, which is what ``x.is_cuda`` of a program for CUDA alone becomes.
"""


SUPPORT_WORDS = (b"is_npu", b"is_torch_npu", b"hasattr(torch,", b"class npu")
"""What such text begins with, in lower case."""


def supports_npu(relative: str, raw: bytes, lower: bytes, words: Words) -> bool:
    """Whether a file, tests and examples aside, belongs to a program that supports the NPU beside CUDA by itself.

    Args:
        relative: its path in the project.
        raw: its bytes.
        lower: the same in lower case.
        words: finds ``SUPPORT_WORDS``.
    """
    places = words.places(lower)
    if not places or is_helper(raw) or is_test(relative) or relative.startswith(("docs/", "examples/")):
        return False
    if b"cuda" not in lower:
        # A class for the NPU in a file of its own, beside those for other devices, need not speak of CUDA.
        places = [place for place in places if lower.startswith(b"class", place[0])]
    return any(SUPPORT.match(raw, start) for start, _ in places)


def prepared_for_npu(node: ast.AST, file: PythonFile) -> bool:
    """Whether the code around ``node`` treats the NPU beside CUDA already."""
    says_npu = file.recall("says npu")
    if says_npu is None:
        says_npu = file.remember("says npu", _names_device(file.source.text.lower))
    if not says_npu:
        return False
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.List, ast.Tuple, ast.Set)) and _names_npu(up.elts):
            return True
        if isinstance(up, ast.Dict) and _names_npu([key for key in up.keys if key is not None]):
            return True
        if isinstance(up, ast.Match) and _other_case(up, current):
            return True
        if isinstance(up, ast.Compare) and _says_npu(up, file) and isinstance(up.ops[0], (ast.In, ast.NotIn)):
            return True
        if isinstance(up, ast.BoolOp) and any(_says_npu(value, file) for value in up.values if value is not current):
            return True
        if isinstance(up, ast.IfExp) and _other_choice(up, current, file):
            return True
        if isinstance(up, ast.If) and _for_other_devices(up, current, file):
            return True
        if isinstance(up, ast.If) and (_other_branch(up, current, file) or _ladder(up, file)):
            return True
        if isinstance(up, ast.Assign) and _assigned_beside(up, file):
            return True
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return False
        current = up
    return False


def says_npu(raw: bytes) -> bool:
    """Whether a text speaks of the NPU."""
    # One pattern for all of it takes many times as long: it has no word to look for, and "input" is everywhere.
    if any(word in raw for word in _SAID) or _UPPER.search(raw) is not None:
        return True
    return any(not raw[match.start() - 1 : match.start()].islower() for match in _LOWER.finditer(raw))


def _names_device(lower: bytes) -> bool:
    """Whether a text speaks of the NPU; "input" does not."""
    return b"hccl" in lower or b"scend" in lower or lower.count(b"npu") > lower.count(b"input")


def _names_npu(elements: list[ast.expr]) -> bool:
    return any(
        isinstance(element, ast.Constant)
        and isinstance(element.value, str)
        and element.value.partition(":")[0].lower() in ("npu", "hccl")
        for element in elements
    )


def _other_case(match: ast.Match, current: ast.AST) -> bool:
    """Whether another pattern of the same ``match``, or of the same case, names the NPU."""
    words = [
        part.value
        for case in match.cases
        for part in ast.walk(case.pattern)
        if isinstance(part, ast.MatchValue) and current in match.cases
    ]
    return _names_npu(words)


def _says_npu(node: ast.AST, file: PythonFile) -> bool:
    return _NPU.search(file.source.data, file.source.start(node), file.source.end(node)) is not None


def _for_other_devices(branch: ast.If, current: ast.AST, file: PythonFile) -> bool:
    """Whether ``current`` runs only where a test for the NPU says no: in its ``else``, or under ``if not …npu…``."""
    if not _says_npu(branch.test, file):
        return False
    negated = isinstance(branch.test, ast.UnaryOp) and isinstance(branch.test.op, ast.Not)
    return current in (branch.body if negated else branch.orelse)


def _other_choice(choice: ast.IfExp, current: ast.AST, file: PythonFile) -> bool:
    """``"cuda" if a else "npu" if b else "cpu"``: another choice, or its test, names the NPU."""
    parts = [part for part in (choice.test, choice.body, choice.orelse) if part is not current]
    if current is choice.test:
        parts = [choice.orelse]
    return any(_says_npu(part, file) for part in parts if not isinstance(part, ast.Name))


def _other_branch(branch: ast.If, current: ast.AST, file: PythonFile) -> bool:
    """Whether another test of the same ``if … elif …`` chain names the NPU."""
    top = branch
    parent = file.parent(top)
    while isinstance(parent, ast.If) and parent.orelse == [top]:
        top, parent = parent, file.parent(parent)
    tests = []
    link: ast.stmt | None = top
    while isinstance(link, ast.If):
        if link is not branch:
            tests.append(link.test)
        link = link.orelse[0] if len(link.orelse) == 1 else None
    return any(_says_npu(test, file) for test in tests)


def _assigned_beside(statement: ast.Assign, file: PythonFile) -> bool:
    """Whether the next or the last statement assigns the same for the NPU: ``self.is_npu = device.type == "npu"``.

    In a row of constants the one for the NPU may stand further away: ``NCCL_BACKEND = "nccl"`` and ``HCCL_BACKEND``.
    """
    parent = file.parent(statement)
    for block in ("body", "orelse"):
        statements = getattr(parent, block, None)
        if isinstance(statements, list) and statement in statements:
            place = statements.index(statement)
            if isinstance(statement.value, ast.Constant):
                for row in (reversed(statements[:place]), iter(statements[place + 1 :])):
                    for other in row:
                        if not isinstance(other, ast.Assign) or not isinstance(other.value, ast.Constant):
                            break
                        if any(_says_npu(target, file) for target in other.targets):
                            return True
            for other in statements[max(place - 1, 0) : place + 2]:
                if other is not statement and isinstance(other, ast.Assign):
                    if any(_says_npu(target, file) for target in other.targets):
                        return True
    return False


def _ladder(branch: ast.If, file: PythonFile) -> bool:
    """Whether a neighbour in a row of ``if …: return …`` tests for the NPU."""
    parent = file.parent(branch)
    if not _leaves(branch):
        return False
    for block in ("body", "orelse"):
        statements = getattr(parent, block, None)
        if isinstance(statements, list) and branch in statements:
            return any(
                isinstance(other, ast.If) and other is not branch and _leaves(other) and _says_npu(other.test, file)
                for other in statements
            )
    return False


def _leaves(branch: ast.If) -> bool:
    return isinstance(branch.body[-1], (ast.Return, ast.Raise))
