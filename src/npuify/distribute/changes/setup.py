"""Set-up: the process group, and devices that were chosen by number."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.distribute.edits import Unprovable
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Program, Unit

_NUMBERED: Final = re.compile(r"(npu|cuda):\d+")
_SET_DEVICE = frozenset(("torch.npu.set_device", "torch.cuda.set_device", "torch_npu.npu.set_device"))
_HIDING = frozenset(("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"))
_HARMLESS = ("os.environ", "os.putenv", "warnings.", "logging.getLogger", "matplotlib.use", "sys.path")


def set_up(entry: Unit, draft: Draft, *, by_hand: bool) -> None:
    """Join the process group at the very beginning of the program.

    Args:
        by_hand: the program makes batches itself: all processes have to draw the same, until each takes its part.
    """
    editor = draft.editor(entry)
    message = "each process selects its card and joins the others before using a device"
    guard = main_guard(entry)
    text = f"npu_distributed.setup({'same_random_numbers=True' if by_hand else ''})"
    try:
        work = _first_work(entry, guard)
        if work is not None:
            edit = editor.before(work, text, *([""] if not _is_call(work) else []))
        elif guard is not None:
            edit = editor.first_in(guard.body, text)
        else:
            raise Unprovable(entry.source.tree, phrase("call {text} at the start of the program", text=text))
        draft.done("NPU350", entry, work or guard or entry.source.tree, message, [edit])
    except Unprovable as problem:
        draft.left("NPU350", entry, problem.node, "the process does not join the group", problem.message)


def main_guard(unit: Unit) -> ast.If | None:
    """``if __name__ == "__main__":``, if the file has it."""
    for statement in unit.source.tree.body:
        if isinstance(statement, ast.If) and "__name__" in unit.source.code(statement.test):
            return statement
    return None


def _first_work(entry: Unit, guard: ast.If | None) -> ast.stmt | None:
    """The first statement of the module that does something, behind its imports."""
    for statement in entry.source.tree.body:
        if statement is guard or isinstance(
            statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Global)
        ):
            continue
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        if any(not entry.source.code(call.func).startswith(_HARMLESS) for call in calls):
            if not (isinstance(statement, ast.Try) and any(isinstance(one, ast.Import) for one in statement.body)):
                return statement
    return None


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Expr, ast.Assign))


def put_import(unit: Unit, draft: Draft, line: str) -> None:
    """Import the helper module behind the first imports of a file."""
    last: ast.stmt | None = None
    for statement in unit.source.tree.body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (text and last is None):
            last = statement
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)) or (last is not None and not _quiet(statement)):
            break
    editor = draft.editor(unit)
    message = "npu_distributed.py, written next to the entry point, contains the multi-card functions"
    node = last or unit.source.tree
    if last is not None:
        draft.done("NPU350", unit, node, message, [editor.after(last, line)])
    else:
        draft.done("NPU350", unit, node, message, [editor.insert(0, line + editor.newline)])


def _quiet(statement: ast.stmt) -> bool:
    """Statements between imports: variables of the environment, and the like."""
    return isinstance(statement, ast.Expr) and any(
        word in ast.dump(statement) for word in ("environ", "filterwarnings", "sys", "use", "append")
    )


def free_devices(program: Program, draft: Draft) -> None:
    """Let every process use its own card where the program says which one by number, and see all cards."""
    for unit in program.units:
        editor = draft.editor(unit)
        for node in unit.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NUMBERED.fullmatch(node.value):
                parent = unit.source.parent(node)
                if isinstance(parent, (ast.Compare, ast.JoinedStr, ast.Expr)):
                    continue
                quote = unit.source.code(node)
                word = node.value.partition(":")[0]
                if quote[:1] in "\"'" and quote[1:-1] == node.value:
                    message = phrase("{value} is one card; {word} is the process's card", value=node.value, word=word)
                    draft.done("NPU362", unit, node, message, [editor.replace(node, f"{quote[0]}{word}{quote[0]}")])
            elif isinstance(node, ast.Call):
                _free_call(node, unit, draft)
            if isinstance(node, (ast.Expr, ast.Assign)):
                _show_cards(node, unit, draft)


def _free_call(node: ast.Call, unit: Unit, draft: Draft) -> None:
    editor, name = draft.editor(unit), unit.qualname(node.func)
    message = "the card number is the process's"
    first = node.args[0] if node.args else None
    if name in _SET_DEVICE and len(node.args) == 1 and first is not None:
        draft.done("NPU362", unit, node, message, editor.around(first, "npu_distributed.card("))
    elif name == "torch.device" and (len(node.args) == 2 or isinstance(first, ast.JoinedStr)):
        if isinstance(first, ast.Constant) and first.value == "cpu":
            return
        draft.done("NPU362", unit, node, message, editor.around(node, "npu_distributed.device("))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("npu", "cuda") and len(node.args) == 1:
        assert first is not None
        draft.done("NPU362", unit, node, message, editor.around(first, "npu_distributed.card("))
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "to" and isinstance(first, ast.JoinedStr):
        if unit.source.code(first)[2:].startswith(("npu:", "cuda:")):
            draft.done("NPU362", unit, node, message, editor.around(first, "npu_distributed.device("))


def _show_cards(node: ast.Expr | ast.Assign, unit: Unit, draft: Draft) -> None:
    """Statements that hide all cards but one hold for a run without torchrun only."""
    text = unit.source.code(node)
    if not any(word in text for word in _HIDING):
        return
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        hides = isinstance(target, ast.Subscript) and unit.source.code(target.value).endswith("environ")
    else:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        hides = called is not None and unit.source.code(called) in ("os.environ.setdefault", "os.putenv")
        hides = hides or (called is not None and unit.source.code(called) == "os.environ.update")
    if not hides:
        return
    editor = draft.editor(unit)
    message = "cards are hidden; under torchrun every process must see its own"
    environ = unit.source.code(node.targets[0].value) if isinstance(node, ast.Assign) else "os.environ"  # type: ignore[attr-defined]
    try:
        draft.done("NPU363", unit, node, message, editor.under(node, node, f'if "LOCAL_RANK" not in {environ}:'))
    except Unprovable as problem:
        draft.left("NPU363", unit, node, message, problem.message)
