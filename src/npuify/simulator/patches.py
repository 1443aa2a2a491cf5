"""What importing torch_npu changes in torch itself."""

from __future__ import annotations

import functools
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
    _tensor_types()
    _data_parallel()


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


def _tensor_types() -> None:
    """``x.type(torch.npu.FloatTensor)``: here a class of Python's, of which torch knows the name only."""
    from npuify.simulator.api.tensor_types import NpuTensorType

    plain: Any = torch.Tensor.type

    @functools.wraps(plain)
    def of_type(self: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dtype, NpuTensorType):
            dtype = f"torch.npu.{dtype.__name__}"
        return plain(self, dtype, *args, **kwargs)

    torch.Tensor.type = of_type


def _data_parallel() -> None:
    """What ``torch.nn.DataParallel`` calls; torch_npu puts the four functions into torch._C."""

    def on(device: int) -> Any:
        return torch.device("npu", device) if device >= 0 else torch.device("cpu")

    def broadcast(tensor: Any, devices: Any) -> list[Any]:
        return [tensor.to(on(device)) for device in devices]

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int) -> list[list[Any]]:
        return [[tensor.to(on(device)) for tensor in tensors] for device in devices]

    def scatter(tensor: Any, devices: Any, sizes: Any = None, dim: int = 0, streams: Any = None) -> list[Any]:
        parts = tensor.split(sizes, dim) if sizes is not None else tensor.chunk(len(devices), dim)
        return [part.to(on(device)) for part, device in zip(parts, devices, strict=False)]

    def gather(tensors: Any, dim: int, destination: int | None = None) -> Any:
        device = on(0 if destination is None else destination)
        return torch.cat([tensor.to(device) for tensor in tensors], dim)

    bindings: Any = torch._C
    for name, function in (
        ("_broadcast", broadcast),
        ("_broadcast_coalesced", broadcast_coalesced),
        ("_scatter", scatter),
        ("_gather", gather),
    ):
        if not hasattr(bindings, name):
            setattr(bindings, name, function)


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass
