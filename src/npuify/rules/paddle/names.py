"""Names of PaddlePaddle that mean CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.paddle import FLUID, paddle_name, paddle_names
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.paddle.guards import asks_for_gpu, guarded_by
from npuify.rules.paddle.settings import npu_switch
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.paddle import PaddleName
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_WORDS = tuple(
    sorted({name.rpartition(".")[2].lower().rstrip("*") for name in paddle_names()} - {"", "cuda", "gpu", "load"})
)


@rule(
    "NPU945",
    "paddle-cuda-name",
    Safety.SAFE,
    words=(*_WORDS, "device.cuda", "profilertarget.gpu", "version.cuda", '.cu"', ".cu'"),
    also_in_file=("paddle",),
    without_torch=True,
    names=("paddle",),
    evidence=Evidence.PACKAGE,
    source="the table of Paddle's names; npuify says the source with each finding",
)
def paddle_cuda_name(
    node: ast.Attribute | ast.Name | ast.Import | ast.ImportFrom, file: PythonFile
) -> Iterator[Diagnostic]:
    """A name of PaddlePaddle needs CUDA; Paddle's custom device for Ascend is called ``npu``.

    Many of them fail without a word: ``is_compiled_with_cuda()`` is false, and the program computes on the CPU.

    Before::

        import paddle

        place = paddle.CUDAPlace(0) if paddle.is_compiled_with_cuda() else paddle.CPUPlace()
        paddle.device.cuda.synchronize()

    After::

        import paddle

        place = paddle.CustomPlace("npu", 0) if paddle.is_compiled_with_custom_device("npu") else paddle.CPUPlace()
        paddle.device.synchronize()
    """
    if "paddle" in file.project.packages:
        return  # Paddle itself
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _imported(node, file)
        return
    parent = file.parent(node)
    if isinstance(node, ast.Name) or isinstance(parent, ast.Attribute):
        # ``x = CUDAPlace(0)`` is told at its import, and ``paddle.sparse`` only where it is what is named.
        if isinstance(node, ast.Name) or paddle_name(file.qualname(parent) or "") is not None:
            return
    row = paddle_name(file.qualname(node) or "")
    if row is not None and isinstance(node, ast.Attribute):
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        if row.with_keyword and not _has_keyword(call, row):
            return
        edits = _edits(node, call, row, file)
        if call is not None and edits and row.npu.endswith("is_compiled_with_custom_device"):
            yield _question(node, call, row, edits, file)
        else:
            yield _report(node, row, edits, file)


def _question(node: ast.Attribute, call: ast.Call, row: PaddleName, edits: list[Edit], file: PythonFile) -> Diagnostic:
    """Whether Paddle is built for CUDA: an NPU takes a branch that chooses a device, not one that needs CUDA."""
    if asks_for_gpu(call, file) and npu_switch(file.source.relative, file.project) is True:
        # use_gpu stays CUDA's beside use_npu: told that CUDA were there, the program would go its way.
        return _report(node, row, [], file)._replace(
            severity=Severity.INFO,
            message="asked for use_gpu alone, which is false on an NPU: use_npu has a way of its own here",
            advice="check that the project's own NPU support is complete here",
        )
    guarded = guarded_by(call, file)
    found = _report(node, row, [] if guarded.only_cuda else edits, file)
    if guarded.only_cuda:
        return found._replace(
            advice=phrase(
                "what follows needs CUDA ({names}): take it out, and ask for the custom device for what an NPU has",
                names=", ".join(guarded.only_cuda),
            )
        )
    if not guarded.chooses_device:
        return found._replace(
            safety=Safety.REVIEW,
            advice="see whether the code behind it runs on an NPU: it names no device, and may need CUDA",
        )
    return found


def _imported(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """``from paddle import CUDAPlace``: the name is used in many places, and told of here."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            is_fluid = f"{alias.name}.".startswith(FLUID)
            row = paddle_names()[FLUID.rstrip(".")] if is_fluid else paddle_name(alias.name)
        else:
            row = paddle_name(f"{node.module}.{alias.name}") if not node.level else None
        if row is not None and (not row.with_keyword or _is_said_somewhere(row, file)):
            advice = row.advice or phrase("import and use {npu}", npu=row.npu)
            yield file.report(
                node,
                phrase("{name}: {message}", name=row.cuda.rstrip(".*"), message=row.message),
                severity=row.severity,
                evidence=row.evidence,
                source=row.source,
                subject=row.cuda.rstrip(".*"),
                advice=advice,
            )


def _edits(node: ast.Attribute, call: ast.Call | None, row: PaddleName, file: PythonFile) -> list[Edit] | None:
    if row.how == "tell" or (file.qualname(node) or "").startswith(FLUID):
        return None  # A program on fluid is to be written anew first: some of its names edited would be half of it.
    if row.how == "whole":
        return (
            [file.replace(call, row.npu)]
            if call is not None and not _has_arguments(call) and _is_paddle(node, file)
            else None
        )
    if row.how == "first" and call is None:
        if row.cuda != "paddle.CUDAPlace" or not _is_paddle(node, file):
            return None
        return [file.replace(node, row.npu)]  # isinstance(place, paddle.CUDAPlace)
    edits: list[Edit] = []
    if row.cuda.rpartition(".")[0] == row.npu.rpartition(".")[0]:
        edit = file.rename_attribute(node, row.npu.rpartition(".")[2])
        edits = [edit] if edit is not None else []
    elif _is_paddle(node, file):
        edits = [file.replace(node, row.npu)]
    if not edits:
        return None
    if row.how == "first" and call is not None:
        place = file.source.data.find(b"(", file.source.end(node)) + 1
        edits.append(file.edit(place, place, '"npu"' + (", " if _has_arguments(call) else _number(row))))
    return edits


def _number(row: PaddleName) -> str:
    """A place needs a number."""
    return ", 0" if row.npu.endswith("Place") else ""


def _is_said_somewhere(row: PaddleName, file: PythonFile) -> bool:
    """Whether the file says what makes a function need CUDA: its calls are not looked at, where it has its own name."""
    words = [f"{row.with_keyword}=".encode()]
    if row.cuda.endswith("cpp_extension.load"):
        words += [b'.cu"', b".cu'"]
    return any(map(file.contains, words))


def _has_keyword(call: ast.Call | None, row: PaddleName) -> bool:
    """Whether a call says by an argument that it needs CUDA; operators are built of files in CUDA, too."""
    if row.with_keyword in _keywords(call):
        return True
    given = [one.value for one in call.keywords if one.arg == "sources"] if call is not None else []
    return any(
        isinstance(one, ast.Constant) and str(one.value).endswith(".cu") for value in given for one in ast.walk(value)
    )


def _keywords(call: ast.Call | None) -> set[str | None]:
    return {one.arg for one in call.keywords} if call is not None else set()


def _has_arguments(call: ast.Call) -> bool:
    return bool(call.args or call.keywords)


def _is_paddle(node: ast.Attribute, file: PythonFile) -> bool:
    """Whether the name begins with the module, as ``import paddle`` binds it."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id == "paddle" and file.qualname(root) == "paddle"


def _report(node: ast.Attribute, row: PaddleName, edits: list[Edit] | None, file: PythonFile) -> Diagnostic:
    advice = row.advice or (phrase("use {name}", name=row.npu) if row.npu and not edits else "")
    return file.report(
        node,
        phrase("{name}: {message}", name=row.cuda.rstrip(".*"), message=row.message),
        edits=edits or (),
        safety=row.safety,
        severity=Severity(row.severity),
        evidence=row.evidence,
        source=row.source,
        subject=row.cuda.rstrip(".*"),
        advice=advice,
    )
