"""Scopes that mark parts of a graph for the compiler: they change nothing that the CPU computes, and are recorded."""

from __future__ import annotations

import contextlib
from typing import Any

from npuify.simulator.tensorflow.inside import journal, tables

_NAMES = (
    "without_npu_compile_scope keep_dtype_scope npu_stage_scope npu_mem_type_scope npu_weight_prefetch_scope "
    "op_specified_engine_scope npu_qos_label_scope subgraph_multi_dims_scope npu_optimizer_scope npu_recompute_scope "
    "npu_graph_slice_scope disable_autofuse limit_core_num_scope npu_gradients_scope npu_variable_scope"
).split()


def _scope(name: str) -> Any:
    homes = {"npu_bridge": "npu_bridge.estimator.npu.npu_scope", "npu_device": "npu_device.utils.scope"}
    package, home = next((p, h) for p, h in homes.items() if name in tables.table(p)["names"][h])

    @contextlib.contextmanager
    def scope(*args: Any, **kwargs: Any) -> Any:
        tables.arguments(package, f"{home}.{name}", args, kwargs)
        journal.count(f"scope {name}")
        yield

    scope.__name__ = name
    return scope


globals().update({name: _scope(name) for name in _NAMES})
