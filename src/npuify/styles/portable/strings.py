"""Portable spellings of strings that name a device, a backend, a CUDA name or an environment variable."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.flow.devices import is_device_table
from npuify.language import phrase
from npuify.rules.common.edits.elements import behind_element
from npuify.rules.common.edits.statements import indentation, line_after
from npuify.rules.common.helper_branches import helper
from npuify.rules.devices.device_names.handed_keys import hands_out_devices
from npuify.styles.branches import choice
from npuify.styles.spelling import REPLACED, device_type, formatted, in_annotation, in_formatted_string, literal

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ODD: Final = "this spelling of the string cannot be edited in place"
_CLOSING: Final = re.compile(r"[\s)]*(?=[,}])")
"""What closes parentheses around a value of a table; anything else, as a comment, is left alone."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def device(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``"cuda"`` → ``compute_device.type``, ``"cuda:0"`` → ``f"{compute_device.type}:0"``."""
    if not isinstance(node, (ast.Constant, ast.JoinedStr)):
        return _ODD
    parent = file.parent(node)
    if isinstance(parent, ast.Dict) and node in parent.keys and is_device_table(parent):
        # With an entry for either, one of the two would be handed out that the machine has not.
        handed_out = hands_out_devices(parent, file) and len(diagnostic.edits) == 1
        if not handed_out:
            return table_entry(node, parent, file)
    listed = _beside(node, "cuda", "npu", file)
    if listed is not None:
        return listed
    return _string(node, "cuda", f"{{{device_type(file)}}}", device_type(file), file)


def _string(node: ast.expr, word: str, field: str, expression: str, file: PythonFile) -> list[Edit] | str:
    """Put an expression in place of a string, or a field in place of the word at its beginning."""
    if in_annotation(node, file):
        return "a type annotation cannot be chosen at run time"
    match = literal(node, file)
    if match is None or "\\" in match["text"]:
        return _ODD
    text = match["text"]
    if isinstance(node, ast.Constant):
        if text == word:
            return [file.replace(node, _apart(node, expression, file))]
        if in_formatted_string(node, file):
            return _ODD
        rest = text[len(word) :].replace("{", "{{").replace("}", "}}")
        return [file.replace(node, formatted(match, field + rest))]
    return [file.replace(node, formatted(match, field + text[len(word) :]))]


def _apart(node: ast.expr, expression: str, file: PythonFile) -> str:
    """``expression`` with a blank where a name stands directly before the string: ``return"cuda"``."""
    start, end = file.source.start(node), file.source.end(node)
    before, behind = file.source.segment(max(start - 1, 0), start), file.source.segment(end, end + 1)
    return (" " if before.isalnum() else "") + expression + (" " if behind.isalnum() else "")


def _beside(node: ast.expr, word: str, other: str, file: PythonFile) -> list[Edit] | None:
    """In a list of choices, a membership test or a ``Literal`` the NPU's word is put beside CUDA's."""
    parent = file.parent(node)
    if not isinstance(parent, (ast.List, ast.Tuple, ast.Set)) or not isinstance(node, ast.Constant):
        return None
    if node.value != word:
        return None
    outer = file.parent(parent)
    choices = isinstance(outer, ast.keyword) and outer.arg == "choices"
    choices = choices or (isinstance(outer, ast.Call) and _last(outer.func) == "Choice")
    tested = isinstance(outer, ast.Compare) and isinstance(outer.ops[0], (ast.In, ast.NotIn))
    typed = isinstance(outer, ast.Subscript) and _last(outer.value) == "Literal"
    if not (choices or tested or typed):
        return None
    match, end = literal(node, file), behind_element(node, parent, file)
    if match is None or end is None:
        return None
    return [file.edit(end, end, f", {match['quote']}{other}{match['quote']}")]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def table_entry(node: ast.expr, table: ast.Dict, file: PythonFile) -> list[Edit] | str:
    """A table that is looked up by device type gets an entry for the NPU behind that for CUDA."""
    value = table.values[table.keys.index(node)]
    key, text = file.code(node), file.code(value)
    if "#" in text or "\n" in text or "torch.cuda" in text:
        return "add an entry for npu by hand"
    new = re.sub(r"(?<![A-Za-z])nccl(?![A-Za-z])", "hccl", re.sub(r"(?<![A-Za-z])cuda(?![A-Za-z])", "npu", text))
    end, start = file.source.end(value), file.source.start(node)
    closing = _CLOSING.match(file.source.segment(end, file.source.end(table)))
    if closing is None:
        return "add an entry for npu by hand"
    end += len(closing[0].rstrip().encode())
    line = file.source.segment(file.source.text.line_starts[node.lineno - 1], start)
    separator = ", " if line.strip() else f",{file.source.text.newline}{line}"
    return [file.edit(end, end, f"{separator}{key.replace('cuda', 'npu')}: {new}")]


def attribute_name(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``getattr(torch, "cuda")`` → ``getattr(torch, compute_device.type)``."""
    call = file.parent(node)
    asked = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("hasattr", "getattr")
    if not asked and diagnostic.subject.startswith("torch.Tensor."):
        return REPLACED
    if isinstance(node, ast.Constant) and node.value == "cuda":
        return [file.replace(node, device_type(file))]
    if isinstance(node, ast.Constant) and len(diagnostic.edits) == 1 and diagnostic.subject.startswith("torch.cuda."):
        edit, text = diagnostic.edits[0], file.code(node)
        if text.count(edit.before) == 1:
            return [file.replace(node, choice(text.replace(edit.before, edit.after), node, file))]
    return phrase("the NPU has a different name; choose by {helper}.type", helper=helper(file))


def dotted_name(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``"torch.cuda.HalfTensor"`` → ``f"torch.{compute_device.type}.HalfTensor"``."""
    if isinstance(node, ast.Constant) and in_annotation(node, file):
        return None  # a name for type checkers, which never runs
    counterpart = file.release.counterpart(diagnostic.subject)
    if counterpart is None or counterpart.npu != diagnostic.subject.replace("torch.cuda", "torch.npu", 1):
        return phrase("the NPU has a different name; choose by {helper}.type", helper=helper(file))
    match = literal(node, file) if isinstance(node, ast.Constant) else None
    if match is None or match["prefix"] or in_formatted_string(node, file):
        return _ODD
    return [file.replace(node, formatted(match, match["text"].replace("cuda", f"{{{device_type(file)}}}", 1)))]


def out_of_memory(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``"CUDA out of memory"`` → ``f"{compute_device.type.upper()} out of memory"``."""
    match = literal(node, file) if isinstance(node, ast.Constant) else None
    if match is None or match["prefix"] or in_formatted_string(node, file) or re.search(r"[{}\\]", match["text"]):
        return _ODD
    kind = f"{helper(file)}.type"
    text = match["text"].replace("CUDA", f"{{{kind}.upper()}}").replace("cuda", f"{{{kind}}}")
    return [file.replace(node, formatted(match, text))]


def beside_other(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``x == D.MULTI_GPU`` → ``x in (D.MULTI_GPU, D.MULTI_NPU)``; in a list, the NPU's name is put beside."""
    parent = file.parent(node)
    if len(diagnostic.edits) != 1 or not isinstance(node, ast.expr):
        return _ODD
    (edit,) = diagnostic.edits
    start, end = file.source.start(node), file.source.end(node)
    both = (
        f"{file.code(node)}, {file.source.segment(start, edit.start)}{edit.after}{file.source.segment(edit.end, end)}"
    )
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        return [file.replace(node, both)]
    if not isinstance(parent, ast.Compare) or parent.comparators != [node]:
        return "ask for the one and the other"
    before = file.source.end(parent.left)
    operator = file.source.segment(before, start)
    word = "not in" if isinstance(parent.ops[0], (ast.NotEq, ast.IsNot)) else "in"
    if operator.strip() not in ("==", "!=", "is", "is not"):
        return "ask for the one and the other"
    return [file.edit(before, start, operator.replace(operator.strip(), word)), file.replace(node, f"({both})")]


def onnx_provider(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """Where providers are listed, that of the NPU is put before CUDA's: ONNX Runtime passes over what it lacks."""
    parent = file.parent(node)
    if isinstance(node, ast.Constant) and isinstance(parent, ast.List) and file.code(node)[:1] in "\"'":
        if any(isinstance(item, ast.Constant) and item.value == "CANNExecutionProvider" for item in parent.elts):
            return None
        quote = file.code(node)[0]
        start = file.source.start(node)
        return [file.edit(start, start, f"{quote}CANNExecutionProvider{quote}, ")]
    return "list CANNExecutionProvider before it"


def backend(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``"nccl"`` → ``compute_device.dist_backend``; in a list of choices ``"hccl"`` is put beside it."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return _ODD
    listed = _beside(node, "nccl", "hccl", file)
    if listed is not None:
        return listed
    name = f"{helper(file)}.dist_backend"
    if node.value == "nccl":
        return _string(node, "nccl", "", name, file)
    if node.value == "NCCL":
        return _string(node, "NCCL", "", f"{name}.upper()", file)
    match = literal(node, file)
    if match is None or match["prefix"] or in_formatted_string(node, file):
        return _ODD
    return [
        file.replace(node, formatted(match, match["text"].replace("cuda:nccl", f"{{{helper(file)}.type}}:{{{name}}}")))
    ]


def environment_variable(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """A variable that is set for CUDA is set for the NPU as well; each machine passes over the other's."""
    read = "the NPU uses a different variable; check both"
    parent = file.parent(node)
    statement = file.parent(parent) if parent is not None else None
    if isinstance(parent, ast.Call) and _last(parent.func) in ("setdefault", "putenv") and parent.args[0] is node:
        if not isinstance(statement, ast.Expr) or len(parent.args) != 2 or not _repeatable(parent.args[1]):
            return read
    elif isinstance(parent, ast.Subscript):
        if not isinstance(statement, ast.Assign) or statement.targets != [parent]:
            return read
        if not _repeatable(statement.value):
            return _copied(node, parent, statement, diagnostic, file) or read
    else:
        return read
    assert isinstance(statement, (ast.Assign, ast.Expr))
    start, end = file.source.start(statement), file.source.end(statement)
    if any(edit.start < start or edit.end > end for edit in diagnostic.edits) or indentation(statement, file) is None:
        return read
    pieces, position = [], start
    for edit in sorted(diagnostic.edits):
        pieces += [file.source.segment(position, edit.start), edit.after]
        position = edit.end
    text = "".join([*pieces, file.source.segment(position, end)])
    if "\n" in text or "#" in text:
        return read
    if _is_next(text, statement, file):
        return None
    edit_after = line_after(statement, text, file)
    return [edit_after] if edit_after is not None else read


def _copied(
    node: ast.AST, target: ast.Subscript, statement: ast.Assign, diagnostic: Diagnostic, file: PythonFile
) -> list[Edit] | None:
    """The variable for the NPU with what the one for CUDA was given, where its value may not be worked out twice."""
    if len(diagnostic.edits) != 1 or indentation(statement, file) is None:
        return None
    start, (edit,) = file.source.start(target), diagnostic.edits
    whole = file.code(target)
    new = whole[: edit.start - start] + edit.after + whole[edit.end - start :]
    text = f"{new} = {whole}"
    if not whole.isascii() or "\n" in whole or _is_next(text, statement, file):
        return None
    edit_after = line_after(statement, text, file)
    return [edit_after] if edit_after is not None else None


def _repeatable(node: ast.expr) -> bool:
    """Whether an expression may be evaluated twice: it only reads and formats."""
    return all(
        not isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda))
        and not (isinstance(part, ast.Call) and _last(part.func) not in ("str", "join", "format", "map", "repr"))
        for part in ast.walk(node)
    )


def _is_next(text: str, statement: ast.stmt, file: PythonFile) -> bool:
    lines = file.source.text.line_starts
    line = statement.end_lineno or statement.lineno
    if line >= len(lines):
        return False
    stop = lines[line + 1] if line + 1 < len(lines) else len(file.source.data)
    return file.source.segment(lines[line], stop).strip().startswith(text)
