"""Collectives that ask for CUDA's capability where a tensor says that it is there, as under ``transfer_to_npu``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ASKING: Final = frozenset(("broadcast", "broadcast_object_list"))
_FIRST: Final = (2, 13)
"""The first torch of which this was asked, with torch_npu 2.13.0 and 2.14.0 on stand-ins for CANN."""


@rule(
    "NPU328",
    "broadcast-asks-capability",
    Safety.MANUAL,
    Severity.ERROR,
    words=("broadcast(", "broadcast_object_list("),
    also_in_file=("distributed",),
    style="auto",
    evidence=Evidence.LIVE,
    source="torch/distributed/distributed_c10d.py 2.13.0 and 2.14.0, called under torch_npu's transfer_to_npu",
)
def broadcast_asks_capability(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``broadcast`` of torch 2.13 and newer compares the capability of the tensor's device, which is None on an NPU.

    Elsewhere it asks only where ``tensor.is_cuda``, which ``transfer_to_npu`` makes true for NPU tensors.
    """
    name = file.qualname(node.func) or ""
    if file.plan.style != "auto" or not name.startswith("torch.distributed.") or name.rpartition(".")[2] not in _ASKING:
        return
    if tuple(int(part) for part in file.release.torch.split(".")[:2]) < _FIRST:
        return
    yield file.report(
        node,
        phrase(
            "under transfer_to_npu, {name} of torch {torch} compares get_device_capability(), which is None: TypeError",
            name=name,
            torch=file.release.torch,
        ),
        subject=name,
        advice="set TORCH_NPU_DEVICE_CAPABILITY (8.0, say) where the program starts, or use the style npu",
    )
