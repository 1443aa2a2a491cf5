"""Devices of PaddlePaddle: ``"gpu"``, ``"gpu:0"``, and predictors that are put on one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.flows import flow_of
from npuify.analysis.flow.owners import owner_of, renames_for_paddle
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DEVICE = re.compile(r"(?:gpu|cuda)(?::(?:\d+|%d|%s|\{\w*\})?)?")
_PRINTED = re.compile(r"Place\((?:gpu|cuda):\d+\)")
_OPENING = re.compile(rb"[A-Za-z]{0,3}(?:\"\"\"|'''|\"|')(?:Place\()?(gpu|cuda)")
_USES_PADDLE = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+paddle", re.MULTILINE)
_USES_TORCH = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+torch\b", re.MULTILINE)
_MOVING = frozenset(("to", "_to"))
_ASKING = re.compile(r"(?:^|\.)get_device$|get_all_(?:custom_)?device_type$")


@rule(
    "NPU946",
    "paddle-gpu-device",
    Safety.SAFE,
    words=('"gpu', "'gpu", '"cuda', "'cuda", "place(gpu", "place(cuda"),
    also_in_file=("paddle",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="paddlepaddle 3.3.1: paddle/device/__init__.py, set_device, called on the CPU",
)
def paddle_gpu_device(node: ast.Constant | ast.JoinedStr, file: PythonFile) -> Iterator[Diagnostic]:
    """PaddlePaddle is given ``gpu``; its custom device for Ascend is ``npu``.

    Before::

        import paddle

        paddle.set_device("gpu:0")
        if "gpu" in paddle.get_device():
            print("on the gpu")

    After::

        import paddle

        paddle.set_device("npu:0")
        if "npu" in paddle.get_device():
            print("on the gpu")
    """
    if isinstance(node, ast.Constant) and isinstance(file.parent(node), ast.JoinedStr):
        # From Python 3.12 on the parts of an f-string have places of their own; the whole is told.
        return
    if not _names_device(node) or "paddle" in file.project.packages or not _USES_PADDLE.search(file.source.data):
        return
    if renames_for_paddle(node, file.model):
        call = file.parent(node)
        if not isinstance(call, ast.Call) or node is call.args[0]:
            return  # an NPU's word is npu in both, and a device of PyTorch's that comes in still becomes Paddle's
        safety: Safety | None = Safety.SAFE
    else:
        safety = _reaches_paddle(node, file)
    if safety is None:
        return
    match = _OPENING.match(file.source.data, file.source.start(node))
    yield file.report(
        node,
        phrase("{node} is CUDA's device of PaddlePaddle; that of an NPU is npu", node=file.code(node)),
        edits=[file.edit(match.start(1), match.end(1), "npu")] if match is not None else (),
        safety=safety,
        subject="paddle: gpu",
    )


def _names_device(node: ast.Constant | ast.JoinedStr) -> bool:
    if isinstance(node, ast.Constant):
        text = node.value
        return isinstance(text, str) and (_DEVICE.fullmatch(text) or _PRINTED.fullmatch(text)) is not None
    first = node.values[0] if node.values else None
    return isinstance(first, ast.Constant) and first.value in ("gpu:", "cuda:") and len(node.values) == 2


def _reaches_paddle(node: ast.expr, file: PythonFile) -> Safety | None:
    """How surely a string is a device of Paddle's; None where it is none, or another library's."""
    found: Safety | None = None
    if _is_compared_with_given(node, file) or _is_compared_with_reaching(node, file):
        found = Safety.REVIEW
    for occurrence in flow_of(node, file.model, file.reaching(Reach.FILE), by_name=True).occurrences:
        here, home = occurrence.node, occurrence.file
        while isinstance(up := home.parent(here), ast.BinOp):
            here = up
        framework = owner_of(here, home)
        if framework is not None and framework.name != "PaddlePaddle":
            return None
        parent = home.parent(here)
        if framework is not None or _is_asked(here, parent, file):
            found = Safety.SAFE if occurrence.sure and not occurrence.depth else found or Safety.REVIEW
        elif _is_compared_with_place(here, parent, file) or (
            _is_moved(here, parent, home) and not _USES_TORCH.search(home.source.data)
        ):
            found = found or Safety.REVIEW
    return found


def _is_compared_with_given(node: ast.expr, file: PythonFile) -> bool:
    """Whether a string is compared with what the file gives to Paddle: ``args.device`` of
    ``paddle.set_device(args.device)``, which is ``npu`` after the migration.
    """
    parent = file.parent(node)
    if not isinstance(parent, ast.Compare) or not all(isinstance(op, (ast.Eq, ast.NotEq)) for op in parent.ops):
        return False
    for side in (parent.left, *parent.comparators):
        if side is not node and isinstance(side, (ast.Name, ast.Attribute, ast.Subscript)):
            given = re.escape(file.code(side)).encode()
            if re.search(
                rb"\bset_device\(\s*(?:device\s*=\s*)?(?:f[\"']\{)?" + given + rb"[\s),}:+]", file.source.data
            ):
                return True
            if isinstance(side, ast.Attribute) and file.project.files_with(b"set_device(" + file.code(side).encode()):
                return True
    return False


def _is_compared_with_reaching(node: ast.expr, file: PythonFile) -> bool:
    """Whether a string is compared with a name that holds one which reaches Paddle.

    ``if device == "gpu"`` in a function that is called with ``"gpu"``: an edit of one alone makes it false.
    """
    parent = file.parent(node)
    if not isinstance(parent, ast.Compare) or not all(isinstance(op, (ast.Eq, ast.NotEq)) for op in parent.ops):
        return False
    sides = [one for one in (parent.left, *parent.comparators) if isinstance(one, (ast.Name, ast.Attribute))]
    for other in ast.walk(file.source.tree) if sides else ():
        if not isinstance(other, ast.Constant) or other.value not in ("gpu", "cuda") or other is node:
            continue
        if isinstance(file.parent(other), ast.Compare):
            continue
        flow = flow_of(other, file.model, file.reaching(Reach.FILE), by_name=True)
        if any(one.node is side for one in flow.occurrences for side in sides) and _reaches_paddle(other, file):
            return True
    return False


def _is_asked(node: ast.expr, parent: ast.AST | None, file: PythonFile) -> bool:
    """``"gpu" in paddle.get_device()`` and ``paddle.get_device().startswith("gpu")``."""
    sides: list[ast.expr] = []
    if isinstance(parent, ast.Compare):
        sides = [side for side in (parent.left, *parent.comparators) if side is not node]
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "startswith":
        sides = [parent.func.value]
    for asked in [one for side in sides for one in _given(side, file)]:
        name = file.qualname(asked.func) if isinstance(asked, ast.Call) else None
        if name and name.startswith("paddle.") and _ASKING.search(name):
            return True
    return False


def _given(side: ast.expr, file: PythonFile) -> list[ast.expr]:
    """What a side of a question is: ``device`` of ``device = paddle.get_device()``, where nothing else is assigned."""
    if not isinstance(side, ast.Name):
        return [side]
    assigned = file.assigned(side)
    return [one for one in assigned if one is not None] if len(assigned) == 1 else []


def _is_compared_with_place(node: ast.expr, parent: ast.AST | None, file: PythonFile) -> bool:
    """``"gpu" in str(x.place)``."""
    if not isinstance(parent, ast.Compare):
        return False
    sides = [side for side in (parent.left, *parent.comparators) if side is not node]
    return any(re.fullmatch(r"str\(.*\bplace\)|.*\.place", file.code(side)) is not None for side in sides)


def _is_moved(node: ast.expr, parent: ast.AST | None, file: FileModel) -> bool:
    """``x.to("gpu")`` and ``x.to(device="gpu")``."""
    given: ast.AST = node
    if isinstance(parent, ast.keyword) and parent.arg == "device":
        given, parent = parent, file.parent(parent)
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in _MOVING
        and given in (*parent.args, *parent.keywords)
    )
