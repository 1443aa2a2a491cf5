"""Names of HCCL's communicators in this process, which fused operators take as ``hcom``."""

from __future__ import annotations

from typing import Any

_groups: dict[str, str] = {}
"""Name of a communicator → the name under which torch.distributed knows its group."""


def learn(group_id: str) -> str:
    """The name of a group's communicator, the same on all processes of the group.

    Args:
        group_id: the name that torch.distributed gives the group.
    """
    name = f"simulated_hccl_{group_id}"
    _groups[name] = group_id
    return name


def group_of(name: str) -> Any:
    """The process group that has a communicator.

    Raises:
        RuntimeError: no group of this process has one of that name.
    """
    from torch.distributed import distributed_c10d

    if name not in _groups:
        raise RuntimeError(
            f"no communicator is called {name!r}; get_hccl_comm_name tells its name (simulated by npuify)"
        )
    return distributed_c10d._resolve_process_group(_groups[name])
