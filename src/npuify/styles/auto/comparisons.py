"""Comparisons under ``transfer_to_npu``: torch itself says ``npu``; what a program keeps stays ``cuda``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.arguments import argument_for, parameters_of
from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Severity
from npuify.rules.common.containers import OF_SETS
from npuify.rules.common.edits.elements import behind_element
from npuify.styles.auto.device_sides import device_of, is_own
from npuify.styles.auto.held import comes_from_said, has_said_within, is_option, may_hold_said
from npuify.styles.spelling import in_formatted_string, literal

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_Display = ast.List | ast.Tuple | ast.Set


def compared(diagnostic: Diagnostic, node: ast.AST, other: str, file: PythonFile) -> Diagnostic | None:
    """An edit of ``x.device.type == "cuda"``, so that it is true for the NPU's word, too; None for other uses.

    What a program keeps in its own options stays ``cuda``, and so does the type of ``torch.device("cuda")``; only what
    tensors and process groups say changes. So both words are asked for.
    """
    compare = file.parent(node)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    if isinstance(compare, ast.MatchValue):
        return _matched(diagnostic, node, compare, other, file)
    if isinstance(compare, (ast.Tuple, ast.List, ast.Set)):
        return _among(diagnostic, node, compare, other, file)
    if isinstance(compare, ast.Call):
        return _asserted(diagnostic, node, compare, other, file) or _beginning(diagnostic, node, compare, other, file)
    if not isinstance(compare, ast.Compare) or len(compare.ops) != 1:
        return None
    side = compare.left if compare.comparators[0] is node else compare.comparators[0]
    operator = compare.ops[0]
    match = literal(node, file)
    if isinstance(operator, (ast.In, ast.NotIn)) and compare.left is node:
        return _within(diagnostic, node, compare, other, file)
    if not isinstance(operator, (ast.Eq, ast.NotEq)) or match is None or not _says_itself(side, other, file):
        return None
    pair = f"({file.code(node)}, {_spelled(node, other, match)})"
    if compare.left is node:
        word = "in" if isinstance(operator, ast.Eq) else "not in"
        return _both(diagnostic, (file.replace(compare, f"{file.code(side)} {word} {pair}"),), other)
    between = file.source.segment(file.source.end(compare.left), file.source.start(node))
    old = "==" if isinstance(operator, ast.Eq) else "!="
    if between.strip("() \t\\\r\n") != old:
        return None  # a comment
    start = file.source.end(compare.left) + between.index(old)
    edits = (file.edit(start, start + 2, "in" if old == "==" else "not in"), file.replace(node, pair))
    return _both(diagnostic, edits, other)


def _spelled(node: ast.Constant, other: str, match: re.Match[str]) -> str:
    """The same text with the NPU's word: ``"npu:0"`` for ``"cuda:0"``."""
    return f"{match['quote']}{str(node.value).replace('nccl' if other == 'hccl' else 'cuda', other)}{match['quote']}"


def _both(diagnostic: Diagnostic, edits: tuple[Edit, ...], other: str) -> Diagnostic:
    return diagnostic._replace(
        edits=edits,
        safety=None,
        needs_torch_npu=False,
        message=phrase(
            "transfer_to_npu does not change what this is compared with: on an NPU it is {other!r}", other=other
        ),
    )


def _among(
    diagnostic: Diagnostic, node: ast.Constant, display: _Display, other: str, file: PythonFile
) -> Diagnostic | None:
    """``x.device.type in ("cuda", "xpu")``: the NPU's word is put into the list."""
    around, match = file.parent(display), literal(node, file)
    tested: ast.expr | None = None
    if isinstance(around, ast.Compare) and isinstance(around.ops[0], (ast.In, ast.NotIn)):
        tested = around.left
    elif isinstance(around, ast.Call) and isinstance(around.func, ast.Attribute) and around.args == [display]:
        tested = around.func.value if around.func.attr == "startswith" else None
    if tested is None or match is None or not _says_itself(tested, other, file):
        return None
    end = behind_element(node, display, file)
    if end is None:
        return diagnostic._replace(
            edits=(), severity=Severity.WARNING, advice=phrase('look for "{other}" as well', other=other)
        )
    return _both(diagnostic, (file.edit(end, end, f", {_spelled(node, other, match)}"),), other)


def _matched(
    diagnostic: Diagnostic, node: ast.Constant, pattern: ast.MatchValue, other: str, file: PythonFile
) -> Diagnostic | None:
    """``case "cuda":`` of what torch says: the NPU's word is put beside it."""
    match, choices = literal(node, file), file.parent(pattern)
    if isinstance(choices, ast.MatchOr) and any(
        isinstance(one, ast.MatchValue) and getattr(one.value, "value", None) == other for one in choices.patterns
    ):
        return None
    around = next((up for up in file.ancestors(pattern) if isinstance(up, ast.Match)), None)
    if match is None or around is None or not _says_itself(around.subject, other, file):
        return None
    if isinstance(choices, (ast.MatchSequence, ast.MatchMapping, ast.MatchClass)):
        return diagnostic._replace(
            edits=(), severity=Severity.WARNING, advice=phrase('match "{other}" as well', other=other)
        )
    end = file.source.end(node)
    return _both(diagnostic, (file.edit(end, end, f" | {_spelled(node, other, match)}"),), other)


def _within(
    diagnostic: Diagnostic, node: ast.Constant, compare: ast.Compare, other: str, file: PythonFile
) -> Diagnostic | None:
    """``"cuda" in str(x.device)``: either word will do."""
    text, match = compare.comparators[0], literal(node, file)
    if match is None or match["text"] not in ("cuda", "nccl") or not _says_itself(text, other, file):
        return None
    if is_own(device_of(text), file):
        return None  # it says what the program does, which stays
    start, end = file.source.start(compare), file.source.end(compare)
    whole = file.source.segment(start, end)
    # Parentheses over several lines are not needed around a call.
    is_long = "\n" in file.code(text) or ("\n" in whole and "#" in whole)
    if is_long or in_formatted_string(node, file) or not _repeatable(text):
        return diagnostic._replace(
            edits=(), severity=Severity.WARNING, advice=phrase('look for "{other}" as well', other=other)
        )
    either = f"any(kind in {file.code(text)} for kind in ({file.code(node)}, {_spelled(node, other, match)}))"
    after = either if isinstance(compare.ops[0], ast.In) else f"not {either}"
    return _both(diagnostic, (file.edit(start, end, after),), other)


def _repeatable(node: ast.expr) -> bool:
    """Whether an expression may be evaluated twice: nothing is called in it but ``str``, or ``x.type()``."""
    return all(
        not isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda))
        and (not isinstance(part, ast.Call) or _only_tells(part.func))
        for part in ast.walk(node)
    )


def _only_tells(function: ast.expr) -> bool:
    return getattr(function, "id", "") == "str" or (isinstance(function, ast.Attribute) and function.attr == "type")


def _beginning(
    diagnostic: Diagnostic, node: ast.Constant, call: ast.Call, other: str, file: PythonFile
) -> Diagnostic | None:
    """``str(x.device).startswith("cuda")``: either word will do."""
    function, match = call.func, literal(node, file)
    if not isinstance(function, ast.Attribute) or function.attr != "startswith" or call.args != [node] or match is None:
        return None
    if not _says_itself(function.value, other, file) or node.value not in ("cuda", "cuda:", "nccl"):
        return None
    if is_option(device_of(function.value), file):
        return None
    text = f"({file.code(node)}, {_spelled(node, other, match)})"
    return _both(diagnostic, (file.replace(node, text),), other)


_ASSERTED = {"assertEqual": "assertIn", "assertEquals": "assertIn", "assertNotEqual": "assertNotIn"}


def _asserted(
    diagnostic: Diagnostic, node: ast.Constant, call: ast.Call, other: str, file: PythonFile
) -> Diagnostic | None:
    """``self.assertEqual(x.device.type, "cuda")``: either word will do."""
    function, match = call.func, literal(node, file)
    if not isinstance(function, ast.Attribute) or function.attr not in _ASSERTED or match is None:
        return None
    if len(call.args) < 2 or node not in call.args[:2]:
        return None
    said = call.args[0] if call.args[1] is node else call.args[1]
    renamed = file.rename_attribute(function, _ASSERTED[function.attr])
    if renamed is None or not _says_itself(said, other, file):
        return None
    pair = f"({file.code(node)}, {_spelled(node, other, match)})"
    if call.args[1] is node:
        return _both(diagnostic, (renamed, file.replace(node, pair)), other)
    return _both(diagnostic, (renamed, file.replace(node, file.code(said)), file.replace(said, pair)), other)


_PARTS = frozenset(
    "index find rindex count replace removeprefix removesuffix split rsplit partition rpartition".split()
)
"""Methods of a text that look for a part of it."""


def sought_in_said(node: ast.AST, other: str, file: PythonFile) -> bool:
    """Whether a word is sought, and not edited, in what torch itself says: ``str(x.device).index("cuda")``."""
    call = file.parent(node)
    if not isinstance(call, ast.Call) or node not in call.args:
        return False
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in (*_PARTS, "startswith", "endswith", "strip", "lstrip"):
        return _is_said(function.value, other, file)
    if isinstance(function, ast.Attribute) and function.attr in ("assertIn", "assertNotIn", "assertRegex"):
        return any(_is_said(one, other, file) for one in call.args[:2] if one is not node)
    name = file.qualname(function) or ""
    return name.startswith("re.") and len(call.args) > 1 and _is_said(call.args[-1], other, file)


_OF_DEVICE = re.compile(r"\.device\.|(?<![\w)\]])\([\s(]*[\w.()]+\.device[\s)]*\)\s*\.|\.type\b|\brepr[\s)]*\(")
"""What shows that a tensor is asked: ``args.device`` alone is a text of the program's."""
_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)


def holds_what_torch_says(node: ast.AST, file: PythonFile, *, is_unknown: bool) -> bool:
    """Whether a word is a key, or part of a comparison, beside what a tensor says of its device, and stays as it is.

    ``(x.device.type, x.dtype) == ("cuda", dtype)``, ``all(one == "cuda" for one in [x.device.type])``,
    ``repr(x.device).startswith(…)``: what is not known to be the program's own is told of, also where it is
    unknown (``is_unknown``) what the word is.
    """
    parent = file.parent(node)
    if isinstance(parent, ast.Subscript):
        return parent.slice is node  # NPU120 tells of no other keys
    current, around, sides = node, parent, list[ast.expr]()
    while isinstance(around, _DISPLAYS) or (isinstance(around, ast.IfExp) and around.test is not current):
        current, around = around, file.parent(around)
    if isinstance(around, ast.Attribute):
        return _is_asked_for_said(around, file)
    if isinstance(around, ast.BinOp):  # {"cuda", "mps"} & {x.device.type}
        other = around.left if around.right is current else around.right
        return isinstance(around.op, OF_SETS) and (
            _OF_DEVICE.search(file.code(around)) is not None or may_hold_said(other, file)
        )
    if isinstance(around, ast.AugAssign):  # kinds -= {"cuda"}
        return isinstance(around.op, OF_SETS) and current is not node and may_hold_said(around.target, file)
    if isinstance(around, ast.Compare):
        whole: ast.AST = around
        sides = [side for side in (around.left, *around.comparators) if side is not node]
        if parent is around and all(is_own(device_of(side), file) for side in sides):
            return False
    elif isinstance(around, ast.Call) and parent is around and _is_asked_of_text(around, file):
        compare = file.parent(around)
        whole = compare if isinstance(compare, ast.Compare) else around
        if isinstance(around.func, ast.Attribute) and has_said_within(around.func.value, file):
            return True
        holder = around.func.value if isinstance(around.func, ast.Attribute) else None
        if holder is not None and (may_hold_said(holder, file) or comes_from_said(holder, file)):
            return True
    else:
        return False
    if any(may_hold_said(side, file) or comes_from_said(side, file) for side in sides):
        return True
    if isinstance(around, ast.Call) and getattr(around.func, "attr", "") in ("get", "pop"):
        return around.args[:1] == [node]
    inside = next((up for up in file.ancestors(whole) if isinstance(up, _COMPREHENSIONS)), whole)
    if _OF_DEVICE.search(file.code(inside)) or (isinstance(inside, ast.Lambda) and _is_given_said(inside, file)):
        return True
    if current is not node and any(_is_made_of_said(side, file) for side in sides):
        return True
    # What a name stands for is mostly an option; a part of a text may be anything.
    return is_unknown and isinstance(around, ast.Compare) and any(isinstance(one, ast.Subscript) for one in sides)


def _is_asked_for_said(method: ast.Attribute, file: PythonFile) -> bool:
    """Whether what a tensor says is sought in words: ``["cpu", "cuda"].index(kind)``, ``"cuda".startswith(kind)``."""
    call = file.parent(method)
    if not isinstance(call, ast.Call) or call.func is not method or method.attr not in (*_SEEKING, *_PARTS):
        return False
    return any(_OF_DEVICE.search(file.code(given)) or _is_said(given, "npu", file) for given in call.args)


_OF_TWO_SETS = "issuperset issubset isdisjoint intersection difference symmetric_difference union"
_SEEKING = frozenset(f"startswith endswith __eq__ __ne__ __contains__ {_OF_TWO_SETS}".split())


def _is_given_said(function: ast.Lambda, file: PythonFile) -> bool:
    """Whether a lambda is called with what a tensor says, where it stands or by the name that it gets."""
    parent = file.parent(function)
    calls = [parent]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        calls = [file.model.parent(one) for one in file.model.references(parent.targets[0].id)]
    return any(
        isinstance(call, ast.Call) and any(_OF_DEVICE.search(file.code(given)) for given in call.args) for call in calls
    )


def _is_made_of_said(node: ast.expr, file: PythonFile) -> bool:
    """Whether a name stands for something with what a tensor says in it: ``said = {"device": x.device.type}``."""
    return isinstance(node, ast.Name) and any(
        made is not None and _OF_DEVICE.search(file.code(made)) for made in file.assigned(node)
    )


_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.Lambda)


def _is_asked_of_text(call: ast.Call, file: PythonFile) -> bool:
    """Whether a call asks a text for a part of it, or compares it."""
    asking = (*_PARTS, "startswith", "endswith", "__eq__", "__contains__", "get", "pop", "remove", "discard")
    if isinstance(call.func, ast.Attribute) and call.func.attr in asking:
        return True
    name = file.qualname(call.func) or getattr(call.func, "id", "")
    return name in ("operator.eq", "operator.ne", "operator.contains", "hash")


def _is_said(node: ast.expr, other: str, file: PythonFile) -> bool:
    device = device_of(node)
    return _says_itself(node, other, file) and not is_own(device, file) and not is_option(device, file)


def _says_itself(node: ast.expr, other: str, file: PythonFile, hops: int = 3) -> bool:
    """Whether an expression is what torch itself says: a device's type, or the backend in use."""
    if other == "hccl":
        return is_get_backend(node, file)
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return True
    if any(
        value.kind is Kind.DEVICE_STRING and not value.name
        for reach in (Reach.FILE, Reach.PROGRAM)
        for value in file.values(node, reach)
    ):
        return True
    if isinstance(node, ast.Name):
        given = file.assigned(node)
        if any(isinstance(value, ast.Attribute) and value.attr == "type" for value in given):
            return True
        # text = f"{x.device}"
        if hops and any(
            isinstance(value, (ast.Call, ast.JoinedStr, ast.Name)) and _says_itself(value, other, file, hops - 1)
            for value in given
        ):
            return True
        return _is_given_type(node, file)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "type":
        return not node.args and not node.keywords  # the name of a tensor's type
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
        return file.denotes_device(node)
    device = device_of(node)
    if device is node:
        return False
    if isinstance(device, ast.Name) and hops and _says_itself(device, other, file, hops - 1):
        return True  # text.lower()
    return file.denotes_device(device)


def _is_given_type(node: ast.Name, file: PythonFile) -> bool:
    """Whether a parameter gets ``x.device.type`` or ``str(x.device)`` where its function is called."""
    function = file.model.frame(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    parameters = [*parameters_of(function), *function.args.kwonlyargs]
    if node.id not in [one.arg for one in parameters]:
        return False
    taken = int(parameters[0].arg in ("self", "cls"))
    here = ((item, file.parent(item)) for item in file.model.references(function.name))
    calls = [call for item, call in here if isinstance(call, ast.Call) and call.func is item]
    for call in (*calls, *(call for _, call in file.reaching(Reach.PROGRAM).calls_of(function, file.model))):
        given = argument_for(node.id, function, call.args, call.keywords, taken)
        if isinstance(given, ast.expr):
            device = device_of(given)
            if device is not given and isinstance(device, ast.Attribute) and device.attr == "device":
                return True
    return False


def is_get_backend(node: ast.expr, file: PythonFile, hops: int = 3) -> bool:
    """Whether an expression is the name of the backend in use: what ``get_backend`` says, in whatever case."""
    if isinstance(node, ast.Call):
        name = file.qualname(node.func) or ""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "upper", "name"):
            return is_get_backend(node.func.value, file, hops)
        if name.startswith("torch.distributed.") and name.endswith("get_backend"):
            return True
    if any(value.kind is Kind.BACKEND_STRING and not value.name for value in file.values(node)):
        return True
    return (
        isinstance(node, ast.Name)
        and hops > 0  # name = name.lower()
        and any(isinstance(value, ast.Call) and is_get_backend(value, file, hops - 1) for value in file.assigned(node))
    )
