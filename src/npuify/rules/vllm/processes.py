"""Programs that open the NPU before vLLM starts its processes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.files import DEFINITIONS
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.blocks import place_in_block
from npuify.rules.common.edits.statements import put_import
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_OPENING: Final = frozenset(
    (
        *(
            "init",
            "set_device",
            "current_device",
            "synchronize",
            "get_device_properties",
            "mem_get_info",
            "initial_seed",
        ),
        *("current_stream", "default_stream", "is_bf16_supported", "get_rng_state", "get_rng_state_all"),
    )
)
"""Functions of ``torch.npu`` that open the card; ``device_count``, ``is_available`` and ``manual_seed`` do not."""
_DEVICE: Final = re.compile(r"(?:cuda|npu)(?::\d+)?")
_ENGINE: Final = re.compile(r"vllm\.(?:.*\.)?(?:LLM|\w*Engine\.from_engine_args|\w*Engine\.from_vllm_config)")
_SETTLED: Final = re.compile(rb"VLLM_WORKER_MULTIPROC_METHOD|VLLM_ENABLE_V1_MULTIPROCESSING|set_start_method")
_SPAWNS: Final = re.compile(rb"VLLM_WORKER_MULTIPROC_METHOD[\"'\]),\s]*[=,]\s*[\"'](?:spawn|fork)\b")
_SPAWN: Final = 'os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"'


@rule(
    "NPU938",
    "npu-opened-before-vllm",
    Safety.REVIEW,
    words=("llm(", "from_engine_args", "from_vllm_config"),
    also_in_file=("vllm",),
    evidence=Evidence.PACKAGE,
    source=(
        "vllm 0.23.0: vllm/utils/system_utils.py, _maybe_force_spawn, which asks for CUDA and XPU; "
        "vllm-project/vllm-ascend#4502; torch_npu 2.14.0: npu/__init__.py, _lazy_init"
    ),
)
def npu_opened_before_vllm(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A program opens the NPU before it makes vLLM's engine, whose processes are forked unless told otherwise.

    With CUDA vLLM sees that and spawns them by itself. On an NPU they are forked, and stop with ``Cannot re-initialize
    NPU in forked subprocess``. Spawned processes import the program again, so that what starts the engine must not run
    on import.

    Before::

        import os

        import torch
        from vllm import LLM

        def main():
            torch.cuda.set_device(0)
            return LLM("facebook/opt-125m")

    After::

        import os

        import torch
        import torch_npu  # noqa: F401
        from vllm import LLM

        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"

        def main():
            torch.npu.set_device(0)
            return LLM("facebook/opt-125m")
    """
    if _ENGINE.fullmatch(file.qualname(node.func) or "") is None or "vllm" in file.project.packages:
        return
    if _is_in_actor(node, file):
        return
    if _SETTLED.search(file.source.data) is not None:
        yield from _spawned_on_import(node, file)
        return
    opening = next(_opened_before(node, file), None)
    if opening is None:
        return
    is_on_import = not any(isinstance(up, DEFINITIONS) for up in file.ancestors(node)) and not _is_guarded(node, file)
    edit = None if is_on_import else _spawning(file)
    yield file.report(
        node.func,
        phrase(
            "the NPU is opened on line {line}, and vLLM forks its processes behind that: they cannot open it again",
            line=opening.lineno,
        ),
        edits=[edit] if edit else (),
        subject="vllm: VLLM_WORKER_MULTIPROC_METHOD",
        advice=""
        if edit
        else 'set VLLM_WORKER_MULTIPROC_METHOD=spawn, and start the engine below if __name__ == "__main__":',
    )


def _spawned_on_import(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The engine of a program that lets vLLM spawn its processes, where it is made on import: each would make one."""
    if _SPAWNS.search(file.source.data) is None or _is_guarded(node, file):
        return
    if any(isinstance(up, (*DEFINITIONS, ast.ClassDef)) for up in file.ancestors(node)):
        return
    yield file.report(
        node.func,
        "vLLM's processes are spawned here: each imports this file again, and makes an engine on import",
        safety=Safety.MANUAL,
        severity=Severity.ERROR,
        subject="vllm: VLLM_WORKER_MULTIPROC_METHOD",
        advice='put what runs here below if __name__ == "__main__":',
    )


def _is_in_actor(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place is in an actor or task of Ray's, where vLLM spawns by itself."""
    return any(
        isinstance(up, (*DEFINITIONS, ast.ClassDef))
        and any((file.qualname(getattr(one, "func", one)) or "").startswith("ray.") for one in up.decorator_list)
        for up in file.ancestors(node)
    )


def _is_guarded(node: ast.AST, file: PythonFile) -> bool:
    return any(isinstance(up, ast.If) and "__name__" in file.code(up.test) for up in file.ancestors(node))


def _opened_before(node: ast.AST, file: PythonFile) -> Iterator[ast.expr]:
    """What surely opens the card before a place: in the blocks around it, from the innermost on."""
    current: ast.AST = node
    for up in file.ancestors(node):
        block, place = place_in_block(current, up, file) or ([], 0)
        for statement in block[:place]:
            yield from _opening_in(statement, file)
        if isinstance(up, ast.ClassDef):
            return
        current = up


def _opening_in(statement: ast.AST, file: PythonFile) -> Iterator[ast.expr]:
    if isinstance(statement, (*DEFINITIONS, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.Try, ast.Match)):
        return
    if isinstance(statement, ast.If):
        if "is_available()" not in file.code(statement.test):
            return
        for one in statement.body:
            yield from _opening_in(one, file)
        return
    if isinstance(statement, (ast.IfExp, ast.BoolOp)):
        return
    if isinstance(statement, ast.Call) and _opens(statement, file):
        yield statement
    for child in ast.iter_child_nodes(statement):
        yield from _opening_in(child, file)


def _opens(call: ast.Call, file: PythonFile) -> bool:
    name = file.qualname(call.func) or ""
    module, _, last = name.rpartition(".")
    if module in ("torch.cuda", "torch.npu", "torch_npu.npu"):
        return last in _OPENING
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("cuda", "npu"):
        return not name.startswith("vllm.")
    words: list[ast.expr] = (
        [one.value for one in call.keywords if one.arg == "device"] if name.startswith("torch.") else []
    )
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        words += call.args[:1]
    if name == "torch.device":
        return False
    return any(isinstance(one, ast.Constant) and _DEVICE.fullmatch(str(one.value)) is not None for one in words)


def _spawning(file: PythonFile) -> Edit | None:
    """Sets the variable behind the imports; vLLM reads it when the engine is made."""
    tree = file.source.tree
    imports = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    if not imports:
        return None
    has_os = any(
        isinstance(one, ast.Import) and any(a.name == "os" and not a.asname for a in one.names) for one in imports
    )
    text = _SPAWN if has_os else f"import os{file.source.text.newline}{file.source.text.newline}{_SPAWN}"
    first = next((one for one in tree.body if isinstance(one, (*DEFINITIONS, ast.ClassDef, ast.If))), None)
    return put_import(text, tree, first.lineno if first is not None else 1 << 30, file, alone=True)
