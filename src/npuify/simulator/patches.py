"""What importing torch_npu changes in torch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import state

if TYPE_CHECKING:
    from types import ModuleType


def apply(root: ModuleType) -> None:
    """Methods ``.npu()``, the backend hccl, and the names that the release adds under ``torch``."""
    unsupported = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True, unsupported_dtype=unsupported)
    added = set(state.table["patched"])
    if torch.distributed.is_available():
        from npuify.simulator.api import distributed

        distributed.register()
        for name in ("is_hccl_available", "reinit_process_group"):
            if f"torch.distributed.{name}" in added:
                setattr(torch.distributed, name, getattr(distributed, name))
    if "torch.version.cann" in added:
        torch.version.cann = ""
    if "torch.compiler.npugraph_mark_step_begin" in added:
        torch.compiler.npugraph_mark_step_begin = _nothing
    _compilers()


def _compilers() -> None:
    """``torch.compile``'s default backend, which would make code for the chip, runs the traced graph as it is."""
    wrapper: Any = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    inductor = wrapper.__call__

    def call(self: Any, graph: Any, inputs: Any, **options: Any) -> Any:
        tensors = [*inputs, *graph.parameters(), *graph.buffers()]
        if any(isinstance(x, torch.Tensor) and x.device.type == "npu" for x in tensors):
            from npuify.simulator.api import dynamo

            return dynamo.as_it_is("inductor")(graph, inputs)
        return inductor(self, graph, inputs, **options)

    wrapper.__call__ = call


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass
