"""``RunConfig`` as ``NPURunConfig``: by keyword, with what TensorFlow does where nothing is said."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.rules.common.calls import keyword_of
from npuify.rules.common.edits.call_edits import add_arguments, has_unknown_arguments, without_keyword
from npuify.rules.tensorflow.estimators.kinds import OWN, Made, base_of
from npuify.rules.tensorflow.estimators.shared_configs import Origin, only_estimators_take, origin_at, origin_of
from npuify.rules.tensorflow.names import api_name, called, short_name

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource

RUN_CONFIGS: Final = ("tf.estimator.RunConfig", "tf.contrib.tpu.RunConfig", "tf.estimator.tpu.RunConfig")
_SAME: Final = frozenset(
    (
        *("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "session_config"),
        *("keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps"),
    )
)
"""Arguments that mean the same in both. ``save_checkpoints_secs`` does not count on several cards."""
_POSITIONS: Final = (
    *("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs"),
    *("session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps"),
)
"""The first arguments of ``RunConfig`` of TensorFlow 1.15, in order."""
_SERVERS: Final = "tf.distribute.experimental.ParameterServerStrategy"
"""The only strategy that ``NPURunConfig`` takes: it asks for the class, and contrib's is another."""
_GIVEN: Final = frozenset(("model_fn", "model_dir", "config", "params", "warm_start_from"))
"""Arguments that ``Estimator`` and ``NPUEstimator`` both have; the fifth by position differs."""


def for_servers(call: ast.Call, file: PythonFile) -> ast.keyword | None:
    """The keyword by which a ``RunConfig`` asks for parameter servers; None where it does not."""
    return _servers(call, file.source) if api_name(call.func, file) == RUN_CONFIGS[0] else None


def _servers(call: ast.Call, source: PythonSource) -> ast.keyword | None:
    keyword = next((one for one in call.keywords if one.arg == "train_distribute"), None)
    return keyword if keyword is not None and _is_of_servers(keyword.value, source) else None


def _is_of_servers(value: ast.expr, source: PythonSource) -> bool:
    return any(one.endswith("ParameterServerStrategy") for one in _strategies(value, source))


def _strategies(value: ast.expr, source: PythonSource) -> list[str]:
    """What makes a strategy, one name for each way that it may be made; empty for what is no call or not known."""
    values: list[ast.expr | None] = [value]
    if isinstance(value, ast.Name):
        found = source.scope_of(value).lookup(value.id)
        values = [one.value if one.kind == "assign" else None for one in found[1]] if found is not None else []
    ways = [way for one in values for way in ((one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,))]
    return [short_name(source.qualname(one.func) or "") if isinstance(one, ast.Call) else "" for one in ways]


def _are_taken(servers: ast.keyword, source: PythonSource) -> bool:
    """Whether the adapter takes the strategy for parameter servers, whichever way it is made."""
    return set(_strategies(servers.value, source)) == {_SERVERS}


def asks_for_servers(file: PythonFile) -> bool:
    """Whether a ``RunConfig`` of the file asks for parameter servers, or an ``NPURunConfig`` has them already."""
    return any(
        for_servers(call, file) is not None or (called(call, "NPURunConfig") and keyword_of(call, "distribute"))
        for call in file.nodes_on_lines_with("train_distribute", "distribute")
        if isinstance(call, ast.Call)
    )


def with_servers(estimator: ast.Call, made: Made, file: PythonFile) -> list[Edit] | None:
    """The edits that give an ``Estimator`` for parameter servers its own kind: ``NPUEstimator`` and ``NPURunConfig``.

    Args:
        estimator: a call of ``tf.estimator.Estimator``, or of the ``__init__`` that a class has from it.
        made: what it makes.

    Returns:
        Empty where it has to be done by hand: an argument has no counterpart, or others use the configuration too. None
        where it asks for no parameter servers. A configuration that is made elsewhere is edited there, by
        :func:`elsewhere`.
    """
    given = made.config
    values = file.assigned(given) if isinstance(given, ast.Name) else [given]
    config = values[0] if len(values) == 1 else None
    here = isinstance(config, ast.Call) and api_name(config.func, file) == RUN_CONFIGS[0]
    shared = origin_of(given, file)
    call = config if here and isinstance(config, ast.Call) else shared.call if shared is not None else None
    source = file.source if here or shared is None else shared.source
    servers = _servers(call, source) if call is not None else None
    if call is None or servers is None:
        return None
    kind = _as_own_kind(estimator, made, file)
    if kind is None or not _are_taken(servers, source):
        return []
    if shared is not None and not _is_of_this_file_alone(shared, file):
        fits = _differences(call, servers) is not None and not made.inherited
        return kind if fits and only_estimators_take(shared, file) else []
    if not here or (isinstance(given, ast.Name) and _is_shared(given, file)):
        return []
    changed = _converted(call, servers, file)
    return [*changed, *kind] if changed is not None else []


def elsewhere(config: ast.Call, file: PythonFile) -> list[Edit]:
    """The edits of a ``RunConfig`` for parameter servers that estimators of other modules or functions take.

    Empty where it has to be done by hand, as :func:`with_servers` says at the estimators.
    """
    servers = for_servers(config, file)
    origin = origin_at(config, file.source)
    if servers is None or origin is None or not _are_taken(servers, file.source):
        return []
    if not only_estimators_take(origin, file):
        return []
    return _converted(config, servers, file) or []


def is_edited_with_its_estimator(config: ast.Call, file: PythonFile) -> bool:
    """Whether what :func:`with_servers` says at an estimator of the same scope is about this configuration, too."""
    origin = origin_at(config, file.source)
    return origin is None or _is_of_this_file_alone(origin, file)


def _is_of_this_file_alone(shared: Origin, file: PythonFile) -> bool:
    """Whether a variable at the top of the estimator's own module is read by no other."""
    if shared.is_function or shared.source is not file.source:
        return False
    return not [one for one in file.project.files_with(shared.holder.encode()) if one != file.source.relative]


def _as_own_kind(estimator: ast.Call, made: Made, file: PythonFile) -> list[Edit] | None:
    """Edits that make an Estimator one of the adapter's, or derive its class from that; None where none is right."""
    func = estimator.func
    explicit = made.inherited and isinstance(func, ast.Attribute) and not called(func.value, "super")
    places = estimator.args[1:] if explicit else estimator.args
    if has_unknown_arguments(estimator) or len(places) > 4:
        return None
    if any(one.arg not in _GIVEN for one in estimator.keywords):
        return None
    if not made.inherited:
        return [file.replace(func, "NPUEstimator")] if api_name(func, file) == OWN else None
    owner = next((one for one in file.ancestors(estimator) if isinstance(one, ast.ClassDef)), None)
    if owner is None or len(owner.bases) != 1 or owner.keywords or base_of(owner, file) != OWN:
        return None
    edits = [file.replace(owner.bases[0], "NPUEstimator")]
    if explicit and isinstance(func, ast.Attribute):
        edits.append(file.replace(func.value, "NPUEstimator"))
    return edits


def _differences(config: ast.Call, servers: ast.keyword) -> list[ast.keyword] | None:
    """The keywords of a ``RunConfig`` that ``NPURunConfig`` does without; None where it lacks what is asked."""
    if has_unknown_arguments(config) or any(name not in _SAME for name in _POSITIONS[: len(config.args)]):
        return None
    if len(config.args) > len(_POSITIONS):
        return None
    dropped = []
    for keyword in config.keywords:
        if keyword.arg in _SAME or keyword is servers:
            continue
        if keyword.arg != "eval_distribute" or ast.dump(keyword.value) != ast.dump(servers.value):
            return None
        dropped.append(keyword)
    return dropped


def _converted(config: ast.Call, servers: ast.keyword, file: PythonFile) -> list[Edit] | None:
    dropped = _differences(config, servers)
    if dropped is None:
        return None
    start = file.source.start(servers)
    edits = [
        file.replace(config.func, "NPURunConfig"),
        file.edit(start, start + len("train_distribute"), "distribute"),
    ]
    # Positions differ: the first of NPURunConfig is iterations_per_loop.
    before: ast.expr = config.func
    for name, value in zip(_POSITIONS, config.args, strict=False):
        at = file.source.start(value)
        if file.source.segment(file.source.end(before), at).strip() not in ("(", ","):
            return None  # in parentheses of its own, or behind a comment
        edits.append(file.edit(at, at, f"{name}="))
        before = value
    for keyword in dropped:
        edit = without_keyword(config, keyword, file)
        if edit is None:
            return None
        edits.append(edit)
    added = ["mix_compile_mode=True", "iterations_per_loop=1"]
    if keyword_of(config, "save_summary_steps") is None and len(config.args) <= _POSITIONS.index("save_summary_steps"):
        # TensorFlow's 100; the adapter's is none.
        added.append("save_summary_steps=100")
    return [*edits, add_arguments(config, added, file)]


def _is_shared(name: ast.Name, file: PythonFile) -> bool:
    """Whether the configuration is read elsewhere too."""
    uses = [
        one
        for one in file.nodes_on_lines_with(name.id)
        if isinstance(one, ast.Name) and one.id == name.id and isinstance(one.ctx, ast.Load)
    ]
    return len(uses) > 1
