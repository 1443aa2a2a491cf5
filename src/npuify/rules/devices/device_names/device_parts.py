"""Names of devices that a program takes apart: ``device[5:]``, ``re.match(r"cuda:(\\d+)", device)``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.model import Safety, Severity
from npuify.rules.common.edits.elements import behind_element
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_MATCHING = frozenset(f"re.{name}" for name in ("match", "fullmatch", "search", "compile", "findall", "sub", "split"))
_PATTERN = re.compile(r"(?<![\w./-])cuda(?=\(?(?:\?:)?:|\)|\||\$|$)")
"""Where a pattern means a device's name: its number follows, another device's name, or nothing."""
_WORD_ALONE = re.compile(r"\^{1,2}\(?cuda\)?\$?")
"""A pattern of what a device's name begins with."""
_BEGINNINGS = ("cu", "cud")
"""What programs write where the first letters are enough to tell a card from a CPU."""
_WHOLE = re.compile(r"cuda(?::\d*)?")
_METHODS = frozenset("startswith find index count partition split removeprefix replace lstrip strip".split())
_CUTS = ("[5:]", "[:4]", "[5]", "[:5]", "[4:]")


@rule(
    "NPU109",
    "device-name-taken-apart",
    Safety.SAFE,
    words=(*_CUTS, "cuda", *(f"{quote}{text}{quote}" for text in _BEGINNINGS for quote in ("'", '"'))),
)
def device_name_taken_apart(node: ast.Subscript | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """The type or number of a device is cut out of its name by the length of ``cuda``, its first letters or a pattern.

    Before::

        import re

        def number(device: str) -> int:
            if re.fullmatch(r"cuda:\\d+", device):
                return int(device[5:])
            return 0

    After::

        import re

        def number(device: str) -> int:
            if re.fullmatch(r"(?:cuda|npu):\\d+", device):
                return int(device.partition(":")[2])
            return 0
    """
    if isinstance(node, ast.Constant):
        yield from _beginning(node, file) if node.value in _BEGINNINGS else _pattern(node, file)
        return
    cut = _cut(node.slice)
    if not cut or not isinstance(node.ctx, ast.Load) or not _is_text_of_device(node, cut, file):
        return
    edits = _as_beginning(node, file) if cut == ":5" else []
    part = {":4": 0, "5:": 2, "5": 2}.get(cut)
    if part is not None:
        edits = [file.edit(_bracket(node, file), file.source.end(node), f'.partition(":")[{part}]')]
    yield file.report(
        node,
        "this cuts a device's name at the length of 'cuda:', and an NPU's is shorter",
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        subject="cuda",
        advice="" if edits else 'take the name apart at its colon: device.partition(":")',
    )


def _bracket(node: ast.Subscript, file: PythonFile) -> int:
    """Where the bracket of a subscript stands: behind the parentheses around what is cut."""
    start = file.source.end(node.value)
    between = file.source.segment(start, file.source.end(node))
    # What is cut may be followed by a parenthesis, and by nothing else that has a bracket in it.
    return start + len(between[: between.index("[")].encode())


def _as_beginning(node: ast.Subscript, file: PythonFile) -> list[Edit]:
    """``x[:5] == "cuda:"`` as ``x.startswith("cuda:")``; nothing for other forms."""
    compare = file.parent(node)
    if not isinstance(compare, ast.Compare) or len(compare.ops) != 1 or compare.left is not node:
        return []
    if not isinstance(compare.ops[0], (ast.Eq, ast.NotEq)) or not isinstance(compare.comparators[0], ast.Constant):
        return []
    start, literal = file.source.start(compare), compare.comparators[0]
    end, bracket = file.source.end(literal), _bracket(node, file)
    between = file.source.segment(file.source.end(node), file.source.start(literal))
    if not {"(", ")", "#"}.isdisjoint(between):
        return []
    edits = [
        file.edit(bracket, file.source.start(literal), ".startswith("),
        file.edit(end, end, ")"),
    ]
    return edits if isinstance(compare.ops[0], ast.Eq) else [file.edit(start, start, "not "), *edits]


def _cut(index: ast.expr) -> str:
    """``5:`` and the like, as they are written; empty for what cuts nothing by the length of ``cuda``."""
    if isinstance(index, ast.Constant):
        return "5" if index.value == 5 and isinstance(index.value, int) else ""
    if not isinstance(index, ast.Slice) or index.step is not None:
        return ""
    ends = [index.lower, index.upper]
    if sum(end is not None for end in ends) != 1:
        return ""
    text = "".join(str(end.value) if isinstance(end, ast.Constant) else ":" for end in ends)
    return text if text in ("5:", ":5", "4:", ":4") else ""


def _is_text_of_device(node: ast.Subscript, cut: str, file: PythonFile) -> bool:
    """Whether what is cut is a device's name: the model says so, or what is done with the part, and its own name."""
    values = file.values(node.value)
    if values.only(Kind.DEVICE_STRING):
        return True
    if any(value.kind in (Kind.TENSOR, Kind.CONTAINER, Kind.NUMBER) for value in values):
        return False
    parent = file.parent(node)
    if isinstance(parent, ast.Compare):
        others = (parent.left, *parent.comparators)
        return cut in (":4", ":5") and any(
            isinstance(side, ast.Constant) and side.value in ("cuda", "cuda:", "npu", "npu:") for side in others
        )
    is_number = isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == "int"
    return is_number and cut in ("5:", "5") and file.denotes_device(node.value)


def _beginning(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``device.startswith("cu")``: an NPU's name is taken as well, which changes nothing for any other."""
    around = file.parent(node)
    if isinstance(around, ast.BinOp):
        yield from _joined(node, around, file)
        return
    if isinstance(around, (ast.List, ast.Tuple)) and around.elts[0] is node:
        yield from _joined_by_method(around, file)
    inside: ast.expr = node
    if isinstance(around, ast.Tuple):
        inside = around
        if any(getattr(one, "value", None) == "npu" for one in around.elts):
            return
    text = _tested(inside, file)
    if text is None or not _says_device(text, file):
        return
    call, code, edits = file.parent(inside), file.code(node), []
    if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "startswith" and code[:1] in ("'", '"'):
        other = f"{code[0]}npu{code[0]}"
        end = behind_element(node, around, file) if isinstance(around, ast.Tuple) else None
        if end is not None:
            edits = [file.edit(end, end, f", {other}")]
        elif inside is node:
            edits = [file.replace(node, f"({code}, {other})")]
    yield file.report(
        node,
        "these are the first letters of a CUDA device's name only",
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        severity=None if edits else Severity.WARNING,
        subject="cuda",
        advice="" if edits else "look for an NPU's name, npu, as well",
    )


def _tested(node: ast.AST, file: PythonFile) -> ast.expr | None:
    """The text of which something is a part: ``text`` in ``text.startswith("cu")`` and ``text[:2] == "cu"``."""
    around = file.parent(node)
    if isinstance(around, ast.Compare) and len(around.ops) == 1:
        other = around.comparators[0] if around.left is node else around.left
        return other.value if isinstance(other, ast.Subscript) and isinstance(other.slice, ast.Slice) else other
    if not isinstance(around, ast.Call) or around.args[:1] != [node]:
        return None
    if file.qualname(around.func) in _MATCHING:
        return around.args[-1] if len(around.args) > 1 else None
    return around.func.value if isinstance(around.func, ast.Attribute) and around.func.attr in _METHODS else None


def _says_device(node: ast.expr, file: PythonFile) -> bool:
    """Whether a text is a device's name, or one of several that are."""
    return file.denotes_device(node) or bool(file.values(node, Reach.PROGRAM).of_kind(Kind.DEVICE_STRING))


def _joined_by_method(parts: ast.List | ast.Tuple, file: PythonFile) -> Iterator[Diagnostic]:
    """``"".join(["cu", "da"])``."""
    call = file.parent(parts)
    method = call.func if isinstance(call, ast.Call) and call.args == [parts] else None
    if isinstance(call, ast.Call) and isinstance(method, ast.Attribute) and method.attr == "join":
        words = [one.value if isinstance(one, ast.Constant) else None for one in (method.value, *parts.elts)]
        texts = [word for word in words if isinstance(word, str)]
        if len(texts) == len(words) and _WHOLE.fullmatch(texts[0].join(texts[1:])):
            yield _put_together(call, file)


def _put_together(node: ast.expr, file: PythonFile) -> Diagnostic:
    return file.report(
        node,
        "a CUDA device's name is put together here",
        safety=Safety.MANUAL,
        subject="cuda",
        advice="write the NPU's name here",
    )


def _joined(node: ast.Constant, sum_: ast.BinOp, file: PythonFile) -> Iterator[Diagnostic]:
    """``"cu" + "da"``."""
    rest = sum_.right.value if isinstance(sum_.right, ast.Constant) and sum_.left is node else None
    if isinstance(rest, str) and _WHOLE.fullmatch(str(node.value) + rest):
        yield _put_together(sum_, file)


def _pattern(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A pattern that a device's name is matched with gets the NPU's name beside CUDA's."""
    call = file.parent(node)
    if not isinstance(node.value, str) or not isinstance(call, ast.Call) or call.args[:1] != [node]:
        return
    if file.qualname(call.func) not in _MATCHING or "npu" in node.value:
        return
    code = file.code(node)
    found = list(_PATTERN.finditer(code[:-1].rstrip("\"'")))
    subject = call.args[-1] if len(call.args) > 1 else None
    if isinstance(subject, ast.Constant):
        return  # a text of the program's own is no device's name that torch gives
    is_known = ":" in node.value or (subject is not None and file.denotes_device(subject))
    begins = "^" if file.qualname(call.func) in ("re.match", "re.fullmatch") else ""
    if len(found) != 1 or code.count("cuda") != 1 or not (is_known or _WORD_ALONE.fullmatch(begins + node.value)):
        return
    start = file.source.start(node) + len(code[: found[0].start()].encode())
    yield file.report(
        node,
        "this pattern knows the names of CUDA devices only",
        edits=[file.edit(start, start + len("cuda"), "(?:cuda|npu)")],
        subject="cuda",
        # Nobody knows what text a pattern of that word alone is held against.
        safety=Safety.SAFE if is_known else Safety.REVIEW,
    )
