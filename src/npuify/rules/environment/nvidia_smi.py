"""nvidia-smi in Python code, and which texts a shell gets."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SHELLS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "os": ("system", "popen"),
        "subprocess": ("run", "call", "check_call", "check_output", "getoutput", "Popen"),
    }.items()
    for name in names
)
_SHELL_NAMES = "|".join(sorted(name.rpartition(".")[2] for name in _SHELLS)).encode()
_WITHOUT_PROGRAM = "torch.npu.mem_get_info() and torch.npu.get_device_name() work without an external program; "
_NVIDIA_SMI = re.compile(r"(?:sudo\s+)?(?:\S*/)?nvidia-smi(?:\.exe)?(?=[\s|;&]|$)")


@rule(
    "NPU713",
    "nvidia-smi-in-python",
    Safety.MANUAL,
    Severity.WARNING,
    words=("nvidia-smi",),
    evidence=Evidence.DOCUMENTED,
    source="Ascend documentation of npu-smi",
)
def nvidia_smi_in_python(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """Code runs nvidia-smi or checks for it; the tool for NPUs is npu-smi, with different options and output.

    Code that parses its output must parse npu-smi's instead, or query torch.npu.
    """
    if not isinstance(node.value, str) or not _NVIDIA_SMI.match(node.value):
        return
    parent = file.parent(node)
    if isinstance(parent, (ast.List, ast.Tuple)) and parent.elts[0] is not node:
        return
    looked_for = isinstance(parent, ast.Call) and file.qualname(parent.func) == "shutil.which"
    if looked_for or runs_in_shell(node, file):
        yield file.report(
            node,
            "nvidia-smi does not list NPUs",
            subject="nvidia-smi",
            advice=(_WITHOUT_PROGRAM if file.framework in ("", "vLLM") else "")
            + "npu-smi info, npu-smi info -l and npu-smi info -t usages -i 0 print the same in another format",
        )


def runs_in_shell(node: ast.expr, file: PythonFile) -> bool:
    """Whether a text, or what it is put together to, is handed to a shell, by whatever names."""
    return _is_run_here(node, file) or _is_handed_to_shell(node, file)


def _is_handed_to_shell(node: ast.expr, file: PythonFile) -> bool:
    """Whether a shell gets the text in a loop over commands, or from a function that it is given to."""
    whole: ast.expr = node
    for up in file.ancestors(node):
        joined = isinstance(up, (ast.JoinedStr, ast.BinOp, ast.Attribute)) or (
            isinstance(up, ast.Call) and isinstance(whole, ast.Attribute) and whole.attr == "format"
        )
        if not joined or not isinstance(up, ast.expr):
            break
        whole = up
    if isinstance(whole, ast.Attribute):
        return False
    for here in file.reaching(Reach.PROGRAM).flow(whole, file.model).occurrences:
        call = here.file.parent(here.node)
        if isinstance(call, ast.Call) and not here.depth and here.node in call.args:
            if here.file.source.qualname(call.func) in _SHELLS:
                return True
    return False


def _is_run_here(node: ast.expr, file: PythonFile) -> bool:
    """Whether a text is handed to a shell where it stands, or by a name of this file."""
    for up in file.ancestors(node):
        if isinstance(up, ast.Call):
            name = file.qualname(up.func) or ""
            if name in _SHELLS:
                return True
            if not (isinstance(up.func, ast.Attribute) and up.func.attr in ("format", "join", "append")):
                return False
        elif isinstance(up, (ast.Assign, ast.AugAssign)):
            targets = up.targets if isinstance(up, ast.Assign) else [up.target]
            names = b"|".join(re.escape(one.id.encode()) for one in targets if isinstance(one, ast.Name))
            calls = rb"\b(?:" + _SHELL_NAMES + rb")\(\s*(?:" + names + rb")\b"
            return bool(names) and re.search(calls, file.source.data) is not None
        elif not isinstance(up, (ast.JoinedStr, ast.BinOp, ast.expr)):
            return False
    return False
