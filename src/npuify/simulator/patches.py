"""What importing torch_npu changes in torch itself."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import NotSimulated, data_parallel, state, tables

if TYPE_CHECKING:
    from types import ModuleType


def apply(root: ModuleType) -> None:
    """Methods ``.npu()``, the backend hccl, and the names that the release adds under ``torch``."""
    unsupported = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True, unsupported_dtype=unsupported)
    # Lazy modules move with it, too; the real method is compiled, and so asks nobody.
    allowed: list[Any] = torch.nn.parameter.UninitializedTensorMixin._allowed_methods
    allowed.append(torch.Tensor.npu)
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
    if hasattr(torch._C, "_accelerator_emptyHostCache"):  # it goes through an allocator that is not registered here
        torch._C._accelerator_emptyHostCache = _nothing
    if "torch.utils.dlpack.from_dlpack" in added:
        _dlpack()
    if state.release in tables.release_facts()["flex_attention"]["in"]:
        _flex_attention()
    _compilers()
    _tensor_types()
    data_parallel.apply()
    _sharing()


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


def _flex_attention() -> None:
    """``flex_attention`` takes NPU tensors, which torch itself does not."""
    from torch.nn.attention import flex_attention as module

    def check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        if query.device.type == "npu" and not query.device == key.device == value.device:
            raise ValueError(
                "Expected query, key, and value to have the same device, "
                f"but got query.device: {query.device}, key.device: {key.device}, "
                f"and value.device: {value.device} instead."
            )

    module._validate_device = check


def _dlpack() -> None:
    """``to_dlpack`` and ``from_dlpack`` take NPU tensors, whose device torch itself has no number for."""
    to_plain, from_plain = torch.utils.dlpack.to_dlpack, torch.utils.dlpack.from_dlpack

    def to_dlpack(tensor: Any) -> Any:
        return torch._C._to_dlpack(tensor) if _on_npu(tensor) else to_plain(tensor)

    def from_dlpack(ext_tensor: Any) -> Any:
        if _on_npu(ext_tensor) and not ext_tensor.requires_grad:
            return ext_tensor.detach()  # the same memory, as a capsule would bring it
        return from_plain(ext_tensor)

    torch.utils.dlpack.to_dlpack = torch.to_dlpack = to_dlpack
    torch.utils.dlpack.from_dlpack = torch.from_dlpack = from_dlpack


def _on_npu(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "npu"


def _tensor_types() -> None:
    """``x.type(torch.npu.FloatTensor)``: here a class of Python's, of which torch knows the name only."""
    from npuify.simulator.api.tensor_types import NpuTensorType

    plain: Any = torch.Tensor.type

    @functools.wraps(plain)
    def of_type(self: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dtype, NpuTensorType):
            dtype = f"torch.npu.{dtype.__name__}"
        try:
            return plain(self, dtype, *args, **kwargs)
        except ValueError:  # the oldest PyTorch that is simulated knows no types of such a device
            owner, _, name = str(dtype).rpartition(".")
            if owner != "torch.npu" or not hasattr(torch, name):
                raise
            return self.to("npu" if self.device.type != "npu" else self.device, getattr(torch, name).dtype)

    torch.Tensor.type = of_type


def _sharing() -> None:
    """Tensors that are sent to another process: torch_npu shares the card's memory, here each process has its own."""
    kind: Any = torch.UntypedStorage

    def refusing(plain: Any) -> Any:
        @functools.wraps(plain)
        def share(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.device.type == "npu":
                raise NotSimulated(
                    "memory of a simulated NPU cannot be shared with another process (npuify simulate); an NPU's can"
                )
            return plain(self, *args, **kwargs)

        return share

    for name in ("_share_fd_cpu_", "_share_filename_cpu_"):
        if hasattr(kind, name):
            setattr(kind, name, refusing(getattr(kind, name)))


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass
