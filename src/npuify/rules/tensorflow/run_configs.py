"""``RunConfig`` as ``NPURunConfig``: by keyword, with what TensorFlow does where nothing is said."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.rules.common.call_edits import add_argument, has_unknown_arguments, without_keyword
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.tensorflow.names import api_name, called

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile

RUN_CONFIGS: Final = ("tf.estimator.RunConfig", "tf.contrib.tpu.RunConfig", "tf.estimator.tpu.RunConfig")
_SAME: Final = frozenset(
    (
        *("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "session_config"),
        *("keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps"),
    )
)
"""Arguments that mean the same in both. ``save_checkpoints_secs`` does not count on several cards."""


def for_servers(call: ast.Call, file: PythonFile) -> ast.keyword | None:
    """The keyword by which a ``RunConfig`` asks for parameter servers; None where it does not."""
    if api_name(call.func, file) != RUN_CONFIGS[0]:
        return None
    keyword = next((one for one in call.keywords if one.arg == "train_distribute"), None)
    return keyword if keyword is not None and _is_of_servers(keyword.value, file) else None


def _is_of_servers(value: ast.expr, file: PythonFile) -> bool:
    values = file.assigned(value) if isinstance(value, ast.Name) else [value]
    names = [api_name(one.func, file) if isinstance(one, ast.Call) else "" for one in values]
    return bool(names) and all(one.endswith("ParameterServerStrategy") for one in names)


def asks_for_servers(file: PythonFile) -> bool:
    """Whether a ``RunConfig`` of the file asks for parameter servers, or an ``NPURunConfig`` has them already."""
    return any(
        for_servers(call, file) is not None or (called(call, "NPURunConfig") and keyword_of(call, "distribute"))
        for call in file.nodes_on_lines_with("train_distribute", "distribute")
        if isinstance(call, ast.Call)
    )


def with_servers(estimator: ast.Call, file: PythonFile) -> list[Edit] | None:
    """The edits that give an ``Estimator`` for parameter servers its own kind: ``NPUEstimator`` and ``NPURunConfig``.

    Args:
        estimator: a call of ``tf.estimator.Estimator``.

    Returns:
        Empty where it has to be done by hand: an argument has no counterpart, or others use the configuration too. None
        where it asks for no parameter servers.
    """
    given = argument(estimator, 2, "config")
    values = file.assigned(given) if isinstance(given, ast.Name) else [given]
    if len(values) != 1 or not isinstance(values[0], ast.Call):
        return None
    config = values[0]
    servers = for_servers(config, file)
    if servers is None:
        return None
    changed = _converted(config, servers, file)
    if changed is None or has_unknown_arguments(estimator) or (isinstance(given, ast.Name) and _is_shared(given, file)):
        return []
    return [*changed, file.replace(estimator.func, "NPUEstimator")]


def _converted(config: ast.Call, servers: ast.keyword, file: PythonFile) -> list[Edit] | None:
    if config.args or has_unknown_arguments(config):
        # Positions differ: the first of NPURunConfig is iterations_per_loop.
        return None
    start = file.source.start(servers)
    edits = [
        file.replace(config.func, "NPURunConfig"),
        file.edit(start, start + len("train_distribute"), "distribute"),
    ]
    for keyword in config.keywords:
        if keyword.arg in _SAME or keyword is servers:
            continue
        if keyword.arg != "eval_distribute" or ast.dump(keyword.value) != ast.dump(servers.value):
            return None
        dropped = without_keyword(config, keyword, file)
        if dropped is None:
            return None
        edits.append(dropped)
    added = ["mix_compile_mode=True", "iterations_per_loop=1"]
    if keyword_of(config, "save_summary_steps") is None:
        # TensorFlow's 100; the adapter's is none.
        added.append("save_summary_steps=100")
    return [*edits, add_argument(config, ", ".join(added), file)]


def _is_shared(name: ast.Name, file: PythonFile) -> bool:
    """Whether the configuration is read elsewhere too."""
    uses = [
        one
        for one in file.nodes_on_lines_with(name.id)
        if isinstance(one, ast.Name) and one.id == name.id and isinstance(one.ctx, ast.Load)
    ]
    return len(uses) > 1
