"""What ``torch.nn.DataParallel`` calls, for NPU tensors.

torch_npu puts four functions into ``torch._C``, and up to 2.12 it also replaces ``DataParallel.parallel_apply`` and
``torch.nn.parallel.data_parallel``, which before torch 2.10 know CUDA's streams only (read from the releases' files;
the tables list both names under ``patched``).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper

from npuify.simulator import state

if TYPE_CHECKING:
    from collections.abc import Sequence


def apply() -> None:
    """Put the functions where torch looks for them; the replaced two only in releases that replace them."""
    bindings: Any = torch._C
    # A build for CUDA has its own of these, which take no NPU tensors; machines with NPUs have the CPU's build.
    bindings._broadcast = _broadcast
    bindings._broadcast_coalesced = _broadcast_coalesced
    bindings._scatter = _scatter
    bindings._gather = _gather
    if "torch.nn.parallel.DataParallel.parallel_apply" in state.table["patched"]:
        torch.nn.DataParallel.parallel_apply = _method
    if "torch.nn.parallel.data_parallel" in state.table["patched"]:
        torch.nn.parallel.data_parallel = data_parallel


def _on(device: int) -> Any:
    return torch.device("npu", device) if device >= 0 else torch.device("cpu")


def _broadcast(tensor: Any, devices: Any) -> list[Any]:
    return [tensor.to(_on(device)) for device in devices]


def _broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int) -> list[list[Any]]:
    return [[tensor.to(_on(device)) for tensor in tensors] for device in devices]


def _scatter(tensor: Any, devices: Any, sizes: Any = None, dim: int = 0, streams: Any = None) -> list[Any]:
    parts = tensor.split(sizes, dim) if sizes is not None else tensor.chunk(len(devices), dim)
    return [part.to(_on(device)) for part, device in zip(parts, devices, strict=False)]


def _gather(tensors: Any, dim: int, destination: int | None = None) -> Any:
    device = _on(0 if destination is None else destination)
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], keywords: Sequence[dict[str, Any]], devices: Sequence[int]
) -> list[Any]:
    """Run each module on its device with its inputs, each in a thread.

    Gradients are recorded if the caller records them. As in torch_npu, autocast is on if ``is_autocast_enabled()`` says
    so without a device, which means CUDA in every torch whose function is replaced: the caller's autocast of NPUs
    reaches the replicas after ``transfer_to_npu`` only.

    Arguments:
        modules: one for each device.
        inputs: their positional arguments: a tuple, or the only one.
        keywords: their keyword arguments.
        devices: the numbers of the NPUs.

    Raises:
        Exception: the first that one of the modules raised.
    """
    from npuify.simulator.api import amp

    grad, lower = torch.is_grad_enabled(), torch.is_autocast_enabled()
    results: list[Any] = [None] * len(modules)

    def work(i: int) -> None:
        torch.set_grad_enabled(grad)
        try:
            with torch.npu.device(devices[i]), amp.autocast(enabled=lower):
                given = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
                results[i] = modules[i](*given, **keywords[i])
        except Exception:
            results[i] = ExceptionWrapper(where=f"in replica {i} on device {devices[i]}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results


def _method(self: Any, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
    return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """One forward of ``module`` over several NPUs; arguments as in ``torch.nn.parallel.data_parallel``."""
    spread = torch.nn.DataParallel(module, device_ids, output_device, dim)
    return spread(
        *(inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)), **module_kwargs or {}
    )
