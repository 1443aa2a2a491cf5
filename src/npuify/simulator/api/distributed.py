"""The process group "hccl": it owns NPU tensors only, and gloo does its work on their memory."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any

import torch
import torch.distributed as dist

from npuify.simulator import communicators, state

_kept: list[Any] = []
"""Groups live as long as the process: their threads may outlast the last reference that Python has."""


class HcclBackend(dist.ProcessGroupGloo if dist.is_available() and dist.is_gloo_available() else object):  # type: ignore[misc]
    """What ``group._get_backend(torch.device("npu"))`` gives."""

    _communicator = ""

    def get_hccl_comm_name(self, rankid: int, *args: Any, init_comm: bool = True, **kwargs: Any) -> str:
        """The name of the group's communicator, the same on all its processes, which fused operators take as ``hcom``.

        Source: Ascend/pytorch, torch_npu/csrc/distributed, Init.cpp and ProcessGroupHCCL.cpp.

        Args:
            rankid: this process's rank; the real one warns where its device is not the current one.
            init_comm: the real one makes the communicator where there is none yet; here there always is one.

        Raises:
            RuntimeError: the rank is negative.
        """
        if rankid < 0:
            raise RuntimeError(f"Invalid rank {rankid} (simulated by npuify)")
        of_rank, current = rankid % state.settings.devices, torch.npu.current_device()
        if of_rank != current:
            warnings.warn(
                f"The indexFromRank {of_rank}is not equal indexFromCurDevice {current} , which might be normal if the "
                "number of devices on your collective communication server is inconsistent. (simulated by npuify)",
                stacklevel=2,
            )
        return self._communicator


def is_available() -> bool:
    """Whether torch has torch.distributed."""
    return dist.is_available()


def is_hccl_available() -> bool:
    """Whether there is the backend hccl: yes."""
    return True


def reinit_process_group(group: Any = None, rebuild_link: bool = True) -> None:
    """Nothing to build anew."""


def register() -> None:
    """Make ``hccl`` a backend of torch.distributed, the one for NPU tensors."""
    if "hccl" in getattr(dist.Backend, "backend_list", []):
        return
    dist.Backend.register_backend("hccl", _create, extended_api=True, devices=["npu"])
    _is_default()
    _bundles()


def _is_default() -> None:
    """Make ``hccl`` the default backend of each group that has it, whatever else was asked for.

    torch takes gloo, or none, where a program names no backend or several, and then warns of it as the group ends. The
    real package replaces the same function, at least for a program that names none (torch_npu 2.13.0,
    torch_npu/_compat/distributed.py).
    """
    from torch.distributed import distributed_c10d

    new_group = distributed_c10d._new_process_group_helper

    @functools.wraps(new_group)
    def with_default(*args: Any, **kwargs: Any) -> Any:
        group, store = new_group(*args, **kwargs)
        if isinstance(group, dist.ProcessGroup) and hasattr(group, "_set_default_backend"):
            with contextlib.suppress(RuntimeError):  # it has none for NPU tensors
                if isinstance(group._get_backend(torch.device("npu")), HcclBackend):
                    group._set_default_backend(dist.ProcessGroup.BackendType.CUSTOM)
        return group, store

    distributed_c10d._new_process_group_helper = with_default


def _bundles() -> None:
    """Let collectives of NPU tensors be bundled, which gloo's backend does not know."""
    begin, end = dist.ProcessGroup._start_coalescing, dist.ProcessGroup._end_coalescing

    def start_coalescing(self: Any, device: torch.device) -> None:
        if device.type == "npu":
            state.device.hold_works()
        else:
            begin(self, device)

    def end_coalescing(self: Any, device: torch.device) -> Any:
        if device.type != "npu":
            return end(self, device)
        state.device.wait_for_works()
        done: Any = torch.futures.Future()
        done.set_result(None)
        return torch._C._distributed_c10d._create_work_from_future(done)

    dist.ProcessGroup._start_coalescing = start_coalescing
    dist.ProcessGroup._end_coalescing = end_coalescing


def _create(options: Any, backend_options: Any) -> Any:
    """One group's backend, and its twin for CPU tensors that the device hands the work to."""
    store, rank, size = options.store, options.group_rank, options.group_size
    backend = HcclBackend(store, rank, size, timeout=options.timeout)
    backend._communicator = communicators.learn(options.group_id)
    twin = _new_group(dist.PrefixStore("twin", store), rank, size)
    twin._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
    if hasattr(twin, "_set_default_backend"):
        twin._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    state.device.learn_twin(twin)
    _kept.append((backend, twin))
    return backend


def _new_group(store: Any, rank: int, size: int) -> Any:
    try:
        return dist.ProcessGroup(store, rank, size)
    except TypeError:  # before torch 2.6
        return dist.ProcessGroup(store, rank, size, dist.ProcessGroup.Options("undefined"))
