"""Options with which Triton kernels are launched, of which triton-ascend does not know all."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import without_keyword
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

TUNING: Final = frozenset(
    "maxnreg waves_per_eu matrix_instr_nonkdim kpack schedule_hint sched4reg min_shared_mem wgp_cu_mode".split()
)
"""Options of Triton 3.9 for NVIDIA and AMD that say how a kernel uses registers and lanes, not what it computes."""
OTHERS: Final = frozenset(
    "launch_cooperative_grid launch_pdl ptx_options ptx_version ir_override enable_reflect_ftz allow_flush_denorm "
    "llvm_fn_attrs default_dot_input_precision supported_fp8_dtypes deprecated_fp8_dot_operand_dtypes".split()
)
"""Those that may touch the results, or how programs wait for each other."""
_ALL: Final = TUNING | OTHERS
_CONFIGS: Final = frozenset(("triton.Config", "triton.runtime.autotuner.Config"))


@rule(
    "NPU646",
    "triton-launch-option",
    Safety.SAFE,
    words=tuple(sorted(_ALL)),
    also_in_file=("triton",),
    evidence=Evidence.PACKAGE,
    source="triton-ascend 3.2.0: runtime/jit.py, and the fields of NPUOptions in backends/ascend/compiler.py",
)
def triton_launch_option(node: ast.keyword | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A kernel is launched with an option that triton-ascend does not know: it raises KeyError.

    What only tunes a kernel for a GPU is left out in the style npu; in the others it is for CUDA, and stays.

    Before::

        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def twice(x, n, size: tl.constexpr):
            at = tl.program_id(0) * size + tl.arange(0, size)
            tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

        def run(x):
            twice[(triton.cdiv(x.numel(), 64),)](x, x.numel(), size=64, maxnreg=64)

    After::

        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def twice(x, n, size: tl.constexpr):
            at = tl.program_id(0) * size + tl.arange(0, size)
            tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

        def run(x):
            twice[(triton.cdiv(x.numel(), 64),)](x, x.numel(), size=64)
    """
    name = node.arg if isinstance(node, ast.keyword) else node.value
    if name not in _ALL or not isinstance(name, str):
        return
    call = file.parent(node)
    if isinstance(node, ast.Constant):
        yield from _configured(node, name, file)
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
        takes = _parameters(call.func.value, file)
        if takes is not None and name in takes:
            return
        edit = without_keyword(call, node, file) if takes is not None and _is_plain(node.value) else None
        yield _told(node, name, file, edit, is_known=takes is not None)


def _configured(key: ast.Constant, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    """An option among what a configuration hands to the kernel: ``triton.Config({"waves_per_eu": 2})``."""
    table = file.parent(key)
    call = file.parent(table) if isinstance(table, ast.Dict) and key in table.keys else None
    call = file.parent(call) if isinstance(call, ast.keyword) and call.arg == "kwargs" else call
    if not isinstance(call, ast.Call) or file.qualname(call.func) not in _CONFIGS:
        return
    takes = _tuned(call, file)
    if takes is None or name not in takes:
        yield _told(key, name, file, None, is_known=takes is not None)


def _told(node: ast.AST, name: str, file: PythonFile, edit: Edit | None, *, is_known: bool) -> Diagnostic:
    edits = [edit] if edit is not None and name in TUNING and file.plan.style == "npu" else []
    if is_known:
        message = phrase("triton-ascend knows no {name}: a kernel that is launched with it raises KeyError", name=name)
    else:
        message = phrase(
            "triton-ascend knows no {name}: unless it is a parameter of the kernel, a launch raises KeyError", name=name
        )
    if name in TUNING:
        advice = phrase("leave it out where the kernel runs on an NPU: it tunes a kernel, and touches no result")
    else:
        advice = phrase("decide what takes its place: it may touch the results, or how programs wait for each other")
    return file.report(
        node,
        message,
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        severity=Severity.ERROR if is_known else Severity.WARNING,
        subject=name,
        advice="" if edits else advice,
    )


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, (ast.Constant, ast.Name, ast.Attribute))


def _parameters(kernel: ast.expr, file: PythonFile) -> set[str] | None:
    """The parameters of a kernel that the file defines; None where it is not known which is meant, or what it takes."""
    if not isinstance(kernel, ast.Name):
        return None
    found = [one for one in ast.walk(file.source.tree) if isinstance(one, ast.FunctionDef) and one.name == kernel.id]
    if len(found) != 1 or not any(_is_kernel(one, file) for one in found[0].decorator_list):
        return None
    return _names(found[0])


def _tuned(node: ast.Call, file: PythonFile) -> set[str] | None:
    """The parameters of the kernel in whose decorator a configuration stands."""
    for function in ast.walk(file.source.tree):
        if isinstance(function, ast.FunctionDef):
            inside = {id(one) for decorator in function.decorator_list for one in ast.walk(decorator)}
            if id(node) in inside:
                return _names(function)
    return None


def _names(function: ast.FunctionDef) -> set[str] | None:
    given = function.args
    if given.kwarg is not None:
        return None
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _is_kernel(decorator: ast.expr, file: PythonFile) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (file.qualname(called) or "") in ("triton.jit", "triton.runtime.jit.jit", "triton.runtime.jit")
