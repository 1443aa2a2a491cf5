"""Names of TensorFlow that mean something else on an NPU, or nothing. The rows are data."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.knowledge.tensorflow.tables import uses
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.mixed import has_tensorflow_for_data
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.tensorflow.schema import Use
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@cache
def _by_name() -> tuple[dict[str, list[Use]], dict[str, list[Use]]]:
    """The rows by name, and by what all names below begin with."""
    exact: dict[str, list[Use]] = {}
    below: dict[str, list[Use]] = {}
    for row in uses():
        for name in row.names:
            (below if name.endswith(".") else exact).setdefault(name, []).append(row)
    return exact, below


def is_in_table(name: str) -> bool:
    """Whether a row tells of a name, whichever TensorFlow it is about."""
    exact, below = _by_name()
    return name in exact or any(name.startswith(start) for start in below)


def _words() -> tuple[str, ...]:
    words: set[str] = set()
    for row in uses():
        words.update(row.words or (name.rstrip(".").rpartition(".")[2].lower() for name in row.names))
    return tuple(sorted(words))


@rule(
    "NPU903",
    "tensorflow-name-on-npu",
    Safety.MANUAL,
    Severity.WARNING,
    words=_words(),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="table of uses",
)
def tensorflow_name_on_npu(node: ast.Call | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of TensorFlow, Keras or Horovod means something else on an NPU, or is not supported there.

    The message says what is known, and the advice what to do. Nothing is edited.
    """
    if isinstance(node, ast.Attribute):
        parent = file.parent(node)
        if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
            return
        name = api_name(node, file)
    else:
        name = api_name(node.func, file)
    if not name or (name.startswith("tf.config.") and has_tensorflow_for_data(file)):
        return  # on the CPU beside PyTorch such calls do no more than they say
    exact, below = _by_name()
    rows = exact.get(name) or next((found for start, found in below.items() if name.startswith(start)), [])
    line = {"v1 on 2": "1"}.get(line_of(file), line_of(file))
    for row in rows:
        if row.line not in ("both", line) and line:
            continue
        if row.argument and isinstance(node, ast.Call) and not _says(node, row.argument):
            continue
        severity = row.severity
        if isinstance(node, ast.Call) and (_hides_all(node, name) or _only_sets_memory(node, name, file)):
            severity = Severity.INFO
        if row.chips:
            if file.product is not None and file.product.name not in row.chips:
                continue
            severity = severity if file.product is not None else Severity.INFO
        elif row.line != "both" and not line and severity is Severity.ERROR:
            severity = Severity.WARNING
        yield file.report(
            # What the options are is said with it.
            node.func if isinstance(node, ast.Call) and name != "tf.GPUOptions" else node,
            _named(row.message, name),
            severity=severity,
            evidence=row.evidence,
            source=row.source,
            subject=name,
            advice=_named(row.advice, name),
        )
        return


def _hides_all(call: ast.Call, name: str) -> bool:
    """Whether a call says that no GPU is to be used, which holds where there is none."""
    devices = argument(call, 0, "devices")
    return name.endswith("set_visible_devices") and isinstance(devices, (ast.List, ast.Tuple)) and not devices.elts


_ABOUT_MEMORY: Final = frozenset(
    f"tf.config.{name}"
    for name in (
        *("experimental.set_memory_growth", "set_logical_device_configuration", "experimental.list_logical_devices"),
        *("experimental.set_virtual_device_configuration", "set_visible_devices", "experimental.set_visible_devices"),
        *("list_logical_devices", "experimental.VirtualDeviceConfiguration", "LogicalDeviceConfiguration"),
    )
)
_OF_PYTHON: Final = frozenset(("print", "len", "str", "range", "enumerate"))


def _only_sets_memory(call: ast.Call, name: str, file: PythonFile) -> bool:
    """Whether a list of GPUs is only asked to be empty or not, and what is done with GPUs is about their memory.

    Such a place does what it should where there is no GPU: nothing.
    """
    if not name.endswith("list_physical_devices"):
        return False
    statement = file.parent(call)
    if isinstance(statement, ast.For) and statement.iter is call:
        return _is_about_memory(statement.body, file)
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    scope, blocks = file.scope(target), list[ast.For | ast.If]()
    uses = [
        one
        for one in file.nodes_on_lines_with(target.id)
        if isinstance(one, ast.Name) and one.id == target.id and isinstance(one.ctx, ast.Load)
    ]
    for use in uses:
        around = next((one for one in file.ancestors(use) if isinstance(one, (ast.For, ast.If))), None)
        if around is None or file.scope(use) is not scope:
            return False
        if around not in blocks:
            blocks.append(around)
    return bool(uses) and all(not one.orelse and _is_about_memory(one.body, file) for one in blocks)


def _is_about_memory(body: list[ast.stmt], file: PythonFile) -> bool:
    """Whether statements call nothing but what sets up the memory of GPUs, and tells of it."""
    for statement in body:
        for one in ast.walk(statement):
            if isinstance(one, (ast.Raise, ast.Return)):
                return False
            if isinstance(one, ast.Call):
                plain = one.func.id if isinstance(one.func, ast.Name) else ""
                if plain not in _OF_PYTHON and api_name(one.func, file) not in _ABOUT_MEMORY:
                    return False
            if isinstance(one, ast.Assign) and any(not isinstance(to, ast.Name) for to in one.targets):
                return False
    return True


def _named(text: str, name: str) -> str:
    return phrase(text, name=name) if "{name}" in text else text


def _says(call: ast.Call, word: str) -> bool:
    """Whether a call gives a string, or none, or something that is not written there."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return not texts or word in texts
