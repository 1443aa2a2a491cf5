"""Environments of child processes, in which CANN's own variables have to stay."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_STARTS: Final = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_CARDS: Final = frozenset(("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"))


@rule(
    "NPU714",
    "child-without-environment",
    Safety.REVIEW,
    Severity.WARNING,
    words=("env={", "env = {", "env=dict(", "env = dict("),
    also_in_file=("visible_devices",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="CANN's installation guide: set_env.sh sets LD_LIBRARY_PATH, PYTHONPATH, ASCEND_HOME_PATH and others",
)
def child_without_environment(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """A process that is to see certain cards is started with nothing else in its environment.

    CUDA's driver is found without any variable, CANN's libraries by those that ``set_env.sh`` has set: a child
    that does not get them cannot import torch_npu.

    Before::

        import os
        import subprocess
        subprocess.check_call(["true"], env={"ASCEND_RT_VISIBLE_DEVICES": "1"})

    After::

        import os
        import subprocess
        subprocess.check_call(["true"], env={**os.environ, "ASCEND_RT_VISIBLE_DEVICES": "1"})
    """
    call, given = file.parent(node), node.value
    if node.arg != "env" or not isinstance(call, ast.Call) or file.qualname(call.func) not in _STARTS:
        return
    if isinstance(given, ast.Dict):
        if None in given.keys or not _CARDS & {key.value for key in given.keys if isinstance(key, ast.Constant)}:
            return
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "dict":
        if given.args or not _CARDS & {keyword.arg for keyword in given.keywords}:
            return
        if any(keyword.arg is None for keyword in given.keywords):
            return
    else:
        return
    inside = file.source.start(given) + (len("{") if isinstance(given, ast.Dict) else len("dict("))
    kept = "**os.environ, " if isinstance(given, ast.Dict) else "os.environ, "
    has_os = any(
        isinstance(one, ast.Import) and any(alias.name == "os" and alias.asname is None for alias in one.names)
        for one in file.nodes_on_lines_with("import os", "os")
    )
    yield file.report(
        given,
        phrase("the process gets nothing of the environment, and cannot find CANN's libraries without it"),
        edits=[file.edit(inside, inside, kept)] if has_os else [],
        safety=Safety.REVIEW if has_os else Safety.MANUAL,
        advice=phrase("begin with what is there: {form}", form="{**os.environ, …}"),
        subject="subprocess",
    )
