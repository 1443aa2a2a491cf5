"""Which framework takes a value: vLLM, PaddlePaddle and others have words of their own for devices."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.flow.flows import flow_of
from npuify.analysis.flow.graphs import is_graph
from npuify.knowledge.frameworks.owners import device_arguments, framework_of, frameworks, methods, tables, words

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.flow.occurrences import Occurrence
    from npuify.knowledge.frameworks.owners import Framework

_HANDING_ON = (ast.IfExp, ast.BoolOp, ast.List, ast.Tuple, ast.Starred)
_PROVIDERS = frozenset(("rocm", "migraphx", "coreml", "openvino", "dml", "directml", "tensorrt"))
"""Short names of ONNX Runtime's execution providers that no device of PyTorch's has."""


def owner_of_call(call: ast.Call, file: FileModel) -> Framework | None:
    """The framework whose function or method is called; None where it is PyTorch's, the project's, or not known."""
    name = file.source.qualname(call.func)
    found = framework_of(name) if name else None
    if found is None and isinstance(call.func, ast.Attribute):
        if call.func.attr == "to" and is_graph(call.func.value, file):
            return frameworks()["dgl"]
        found = methods().get(call.func.attr)
        if found is not None and not any(
            module.rpartition(".")[2].encode() in file.source.data for module in found.modules
        ):
            return None
    return found


def owner_of(node: ast.expr, file: FileModel) -> Framework | None:
    """The framework whose call an expression is an argument of, as it is written there."""
    if names_provider(node, file):
        return frameworks()["onnxruntime"]
    if renames_for_paddle(node, file):
        return frameworks()["paddle"]
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Call):
            return owner_of_call(up, file) if current is not up.func else None
        if not isinstance(up, (*_HANDING_ON, ast.keyword)):
            return None
        current = up
    return None


_IMPORTS_PADDLE = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+paddle")


def renames_for_paddle(node: ast.AST, file: FileModel) -> bool:
    """Whether a string is one of the two of ``device.replace("cuda", "gpu")``, which makes PyTorch's word Paddle's."""
    call = file.parent(node)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "replace"
        and [getattr(one, "value", None) for one in call.args] in (["cuda", "gpu"], ["cuda", "npu"])
        and node in call.args
        and _IMPORTS_PADDLE.search(file.source.data) is not None
    )


def names_provider(node: ast.expr, file: FileModel) -> bool:
    """Whether a string is the short name of an execution provider of ONNX Runtime's.

    Programs derive them from the providers' own names: ``CUDAExecutionProvider`` is ``cuda`` on their command lines. So
    it is where others stand beside it, where it is the key of a provider, is compared with one, or where a function is
    given it that has the word in its name.
    """
    if not isinstance(node, ast.Constant) or b"ExecutionProvider" not in file.source.data:
        return False
    row = file.parent(node)
    if isinstance(row, ast.Dict) and node in row.keys:
        value = row.values[row.keys.index(node)]
        return isinstance(value, ast.Constant) and str(value.value).endswith("ExecutionProvider")
    if isinstance(row, ast.Compare):
        sides = [side for side in (row.left, *row.comparators) if side is not node]
        return any("execution_provider" in (_last_name(side) or "") for side in sides)
    if isinstance(row, (ast.List, ast.Tuple, ast.Set)):
        if any(isinstance(one, ast.Constant) and one.value in _PROVIDERS for one in row.elts):
            return True
    else:
        row = node
    call = file.parent(row)
    call = file.parent(call) if isinstance(call, ast.keyword) else call
    if not isinstance(call, ast.Call) or row is call.func:
        return False
    return "provider" in (_last_name(call.func) or "")


def _last_name(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def owner_of_table(table: ast.expr, file: FileModel, model: Engine) -> Framework | None:
    """The framework that a dictionary is spread into, or that another library hands it to.

    ``LLM(**options)``; ``LLMConfig(engine_kwargs=options)`` of Ray's.
    """
    data = file.source.data
    if not any(word.encode() in data for word in words()) and not any(keyword.encode() in data for keyword in tables()):
        return None
    if b"**" not in data and not any(keyword.encode() in data for keyword in tables()):
        return None
    for occurrence in flow_of(table, file, model).occurrences:
        parent = occurrence.file.parent(occurrence.node)
        call = occurrence.file.parent(parent) if isinstance(parent, ast.keyword) else None
        if not isinstance(parent, ast.keyword) or not isinstance(call, ast.Call) or occurrence.depth:
            continue
        found = owner_of_call(call, occurrence.file) if parent.arg is None else _hands_on(parent.arg, call, occurrence)
        if found is not None:
            return found
    return None


def _hands_on(keyword: str, call: ast.Call, here: Occurrence) -> Framework | None:
    """The framework to which a call of another library hands the table that it is given by this keyword."""
    known = tables().get(keyword)
    name = here.file.source.qualname(call.func) if known else None
    return next((row for module, row in known or () if name and name.startswith(f"{module}.")), None)


def owner_of_given_table(table: ast.expr, file: FileModel, model: Engine) -> Framework | None:
    """The framework that is given a dictionary, spread or as an argument: ``xgboost.train(options, data)``."""
    data = file.source.data
    if not any(word.encode() in data for word in words()):
        return owner_of_table(table, file, model)
    for occurrence in flow_of(table, file, model).occurrences:
        parent = occurrence.file.parent(occurrence.node)
        call = occurrence.file.parent(parent) if isinstance(parent, ast.keyword) else parent
        if isinstance(call, ast.Call) and occurrence.node is not call.func and not occurrence.depth:
            found = owner_of_call(call, occurrence.file)
            if found is not None:
                return found
    return owner_of_table(table, file, model)


def owner_of_entry(node: ast.expr, file: FileModel, model: Engine) -> Framework | None:
    """The framework that is given a table with a device in it: ``lightgbm.train({"device_type": "cuda"}, data)``.

    Args:
        node: the value of an entry, or what a conditional expression there gives.
        file: where it stands.
        model: follows the table.
    """
    value: ast.expr = node
    table = file.parent(value)
    while isinstance(table, ast.IfExp) and value is not table.test:
        value, table = table, file.parent(table)
    if isinstance(table, ast.Dict) and value in table.values:
        key = table.keys[table.values.index(value)]
        name = key.value if isinstance(key, ast.Constant) else None
    elif isinstance(table, ast.keyword) and isinstance(call := file.parent(table), ast.Call):
        name = table.arg if isinstance(call.func, ast.Name) and call.func.id == "dict" else None
        table = call
    else:
        return None
    if not isinstance(table, ast.expr) or not isinstance(name, str) or name not in device_arguments():
        return None
    return owner_of_given_table(table, file, model)


def owner_of_object(node: ast.expr, file: FileModel) -> Framework | None:
    """The framework whose object a name surely stands for: one that its calls made, or a parameter so annotated.

    ``args = AsyncEngineArgs.from_cli_args(...)``; ``def start(args: AsyncEngineArgs)``.
    """
    if not isinstance(node, ast.Name):
        return None
    found = file.scope(node).lookup(node.id)
    owners: set[Framework | None] = set()
    for binding in found[1] if found is not None else ():
        made: ast.expr | None = binding.value if binding.kind == "assign" else None
        if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
            name = file.source.qualname(binding.node.annotation) if binding.node.annotation is not None else None
            owners.add(framework_of(name) if name else None)
        else:
            owners.add(owner_of_call(made, file) if isinstance(made, ast.Call) else None)
    return owners.pop() if len(owners) == 1 else None
