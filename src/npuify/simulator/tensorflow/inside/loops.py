"""Several iterations for one ``Session.run``, and the checks of arguments that the adapter's functions share.

Texts of errors: hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/util.py.
"""

from __future__ import annotations

from typing import Any

from npuify.simulator.tensorflow.inside import journal
from npuify.simulator.tensorflow.inside.framework import ops, tf1

_values: dict[str, Any] | None = None
_LOOPS = "_npuify_loops"


def check_not_none(value: Any, name: str) -> None:
    """ValueError for None."""
    if value is None:
        raise ValueError(f"{name} must not be None")


def check_positive_integer(value: Any, name: str) -> None:
    """TypeError for what is no integer, ValueError for one below 1."""
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, got {type(value)}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {value}")


def check_nonnegative_integer(value: Any, name: str) -> None:
    """TypeError for what is no integer, ValueError for one below 0."""
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, got {type(value)}")
    if value < 0:
        raise ValueError(f"{name} must be nonnegative, got {value}")


def check_bool_type(value: Any, name: str) -> None:
    """TypeError for what is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value}")


def check_aoe_mode(aoe_mode: Any) -> None:
    """ValueError for a mode of tuning that there is not."""
    if aoe_mode not in ("1", "2", "4"):
        raise ValueError(f"aoe_mode:{aoe_mode} is invalid, should be in ['1', '2', '4']")


def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> Any:
    """An operation that stands for that many runs of ``train_op``."""
    _checked_operation(train_op)
    check_positive_integer(iterations_per_loop, "iterations_per_loop")
    if iterations_per_loop == 1:
        return train_op
    made = tf1.group(train_op, name="IterationOp")
    repeat(made, iterations_per_loop)
    return made


def _checked_operation(train_op: Any) -> None:
    if not isinstance(train_op, ops.Operation):
        raise ValueError(f"The incoming 'train_op' type is '{train_op.dtype.name}', and the need type is 'Operation'")


def repeat(operation: Any, times: int) -> None:
    """From now on a run that fetches the operation is run that many times, as the card does it."""
    if not hasattr(operation.graph, _LOOPS):
        setattr(operation.graph, _LOOPS, {})
    getattr(operation.graph, _LOOPS)[operation.name] = times
    journal.note("iterations_per_loop", operation=operation.name, iterations=times)


def times(graph: Any, fetches: Any) -> int:
    """How often a run with these fetches is done on the card before it comes back."""
    loops = getattr(graph, _LOOPS, None)
    if not loops:
        return 1
    return max([loops.get(name, 1) for name in _names(fetches)] or [1])


def _names(fetches: Any) -> Any:
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        for each in fetches:
            yield from _names(each)
    elif isinstance(fetches, ops.Operation):
        yield fetches.name
    elif hasattr(fetches, "op"):
        yield fetches.op.name
    elif isinstance(fetches, str):
        yield fetches.partition(":")[0]


class IterationPerLoop:
    """The two halves of :func:`set_iteration_per_loop`, for graphs that are made before their session."""

    def __init__(self) -> None:
        self._operation: Any = None

    def create_iteration_per_loop_var(self, train_op: Any) -> Any:
        """The operation that stands for several runs."""
        _checked_operation(train_op)
        self._operation = tf1.group(train_op, name="IterationOp")
        return self._operation

    def load_iteration_per_loop_var(self, sess: Any, iterations_per_loop: int = 1) -> None:
        """How many runs it stands for."""
        check_positive_integer(iterations_per_loop, "iterations_per_loop")
        repeat(self._operation, iterations_per_loop)


class SetIterationsVarHook(tf1.train.SessionRunHook):
    """The iterations for each run of a monitored session's ``IterationOp``."""

    def __init__(self, iterations_per_loop: Any = None) -> None:
        self._iterations_per_loop = iterations_per_loop

    def begin(self) -> None:
        """Finds the operation, which the estimator or the user has made."""
        graph = tf1.get_default_graph()
        for operation in graph.get_operations():
            if operation.name.split("/")[-1].startswith("IterationOp"):
                repeat(operation, self._iterations_per_loop)


def global_dict_init() -> None:
    """Makes the place for what ``init_resource`` finds out."""
    global _values
    _values = {}


def set_value(key: str, value: Any) -> None:
    """Keeps a value."""
    if _values is None:
        raise NameError("name '_global_dict' is not defined")
    _values[key] = value


def get_value(key: str, def_value: Any = None) -> Any:
    """A kept value. Before ``init_resource`` there is no place for any: NameError, as in the adapter."""
    if _values is None:
        raise NameError("name '_global_dict' is not defined")
    return _values.get(key, def_value)


def variable_initializer_in_host(var_list: Any) -> Any:
    """The initialisers of variables, on the host."""
    return tf1.initializers.variables(var_list, name="var_in_host")


def npu_compile(sess: Any, *fetches: Any) -> None:
    """Compiles, which here is running."""
    sess.run(fetches)


def set_graph_exec_config(
    fetch: Any,
    dynamic_input: bool = False,
    dynamic_graph_execute_mode: str = "dynamic_execute",
    dynamic_inputs_shape_range: Any = None,
    is_train_graph: bool = False,
    experimental_config: Any = None,
) -> Any:
    """Marks what is fetched; recorded."""
    journal.note("graph_exec_config", dynamic_input=dynamic_input, mode=dynamic_graph_execute_mode)
    return fetch
