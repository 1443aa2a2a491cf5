"""Trees on a GPU: parameters of XGBoost and LightGBM, which compute on the CPU of a machine with NPUs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.owners import owner_of_call, owner_of_given_table
from npuify.knowledge.frameworks.stacks import stack_argument, stack_rows
from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.common.edits.taking_out import without_argument, without_entry
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.owners import Framework
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_STACKS = ("XGBoost", "LightGBM")
_NAMES = frozenset(name for stack in _STACKS for row in stack_rows(stack) for name in row.names)


@rule(
    "NPU978",
    "trees-on-a-gpu",
    Safety.REVIEW,
    words=("gpu_hist", "gpu_exact", "gpu_predictor", *sorted(name for name in _NAMES if "gpu" in name)),
    also_in_file=("xgboost", "lightgbm"),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of stacks; npuify says the source with each finding",
)
def trees_on_a_gpu(node: ast.keyword | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """XGBoost or LightGBM is given a parameter that only their builds for CUDA take.

    Both compute on the CPU of a machine with NPUs, and give the same trees there but for rounding.

    Before::

        import xgboost

        trees = xgboost.train({"tree_method": "gpu_hist", "eta": 0.1}, data)

    After::

        import xgboost

        trees = xgboost.train({"tree_method": "hist", "eta": 0.1}, data)
    """
    holder = file.parent(node)
    edit: Edit | None = None
    at = 0
    if isinstance(node, ast.keyword):
        if node.arg not in _NAMES or not isinstance(holder, ast.Call):
            return
        is_table = isinstance(holder.func, ast.Name) and holder.func.id == "dict"
        owner = _of_table(holder, file) if is_table else owner_of_call(holder, file.model)
        name, value = node.arg, node.value
    elif isinstance(holder, ast.Dict) and (node in holder.keys or node in holder.values):
        at = holder.keys.index(node) if node in holder.keys else holder.values.index(node)
        key, value = holder.keys[at], holder.values[at]
        if not isinstance(key, ast.Constant) or key.value not in _NAMES or (node is value) == ("gpu" in str(key.value)):
            return
        owner = _of_table(holder, file)
        name = str(key.value)
    else:
        return
    if owner is None or owner.name not in _STACKS or owner.modules[0] in file.project.packages:
        return
    row = stack_argument(owner.name, "python", name, str(value.value) if isinstance(value, ast.Constant) else None)
    if row is None:
        return
    if row.action == "set" and isinstance(value, ast.Constant):
        quote = file.code(value)[0]
        edit = file.replace(value, f"{quote}{row.becomes}{quote}")
    elif row.action == "remove" and isinstance(holder, ast.Dict):
        edit = without_entry(holder, at, file)
    elif row.action == "remove" and isinstance(holder, ast.Call):
        arguments: list[ast.AST] = sorted([*holder.args, *holder.keywords], key=file.source.start)
        edit = without_argument(arguments, arguments.index(node), file)
    yield file.report(
        node,
        phrase("{stack} {option}: {message}", stack=row.stack, option=name, message=row.message),
        edits=[edit] if edit is not None else (),
        safety=row.safety,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=f"{row.stack}: {name}",
        advice=row.advice,
    )


def _of_table(table: ast.expr, file: PythonFile) -> Framework | None:
    return owner_of_given_table(table, file.model, file.reaching(Reach.FILE))
