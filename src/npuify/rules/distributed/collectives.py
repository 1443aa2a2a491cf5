"""Collectives, their limits and their clocks: what HCCL does otherwise than NCCL where no name says so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_API_LIST = "torch_npu's list of supported APIs, torch.distributed (torch 2.7 to 2.11)"
_WITHOUT_AVERAGE = ("2.2.0.",)
"""Releases whose ProcessGroupHCCL refuses AVG; the others that there is a table of add up, then divide (branch v2.2.0
of Ascend/pytorch; against it v2.1.0 of December 2025, v2.3.1 and all later ones)."""
_OTHERS = {
    "AVG": "reduce with ReduceOp.SUM, then divide by the number of processes",
    "PREMUL_SUM": "multiply first, then reduce with ReduceOp.SUM",
    "BAND": "gather the tensors and combine them, or reduce on the CPU in a gloo group",
    "BOR": "gather the tensors and combine them, or reduce on the CPU in a gloo group",
    "BXOR": "gather the tensors and combine them, or reduce on the CPU in a gloo group",
}


@rule(
    "NPU315",
    "reduction-without-hccl",
    Safety.MANUAL,
    Severity.ERROR,
    words=("reduceop.",),
    evidence=Evidence.DOCUMENTED,
    source="ProcessGroupHCCL's table of reductions; its message 'Cannot use ReduceOp … with HCCL' in the package",
)
def reduction_without_hccl(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """HCCL supports sum, product, minimum and maximum only: bitwise reductions raise.

    torch_npu computes AVG from a sum, except in its releases for PyTorch 2.2. Comparisons with such a reduction, and
    tables of them, are not reported.
    """
    name = file.qualname(node) or ""
    if node.attr not in _OTHERS or not name.startswith("torch.distributed.") or "ReduceOp." not in name:
        return
    if node.attr == "AVG" and not file.release.torch_npu.startswith(_WITHOUT_AVERAGE):
        return
    if isinstance(file.parent(node), (ast.Compare, ast.Dict, ast.List, ast.Tuple, ast.Set)):
        return
    if any(isinstance(up, ast.If) and "ReduceOp." in file.code(up.test) for up in file.ancestors(node)):
        return  # one line of a translation between two sets of names
    yield file.report(
        node,
        phrase("HCCL has no ReduceOp.{attr}: it supports SUM, PRODUCT, MIN and MAX", attr=node.attr),
        subject=f"torch.distributed.ReduceOp.{node.attr}",
        advice=_OTHERS[node.attr],
    )


_LIMITS = {
    "all_to_all": "float32 only, and with torch's behavior only after torch_npu.npu.use_compatible_impl(True)",
    "all_to_all_single": "float32 only",
    "all_gather_into_tensor": "not for 3, 5, 6 or 7 processes, and not for int64",
    "reduce_scatter_tensor": "not for 3, 5, 6 or 7 processes",
}


@rule(
    "NPU316",
    "collective-limits",
    Safety.MANUAL,
    Severity.INFO,
    words=tuple(f"{name}(" for name in _LIMITS),
    names=tuple(f"torch.distributed.{name}" for name in _LIMITS),
    evidence=Evidence.DOCUMENTED,
    source=_API_LIST,
)
def collective_limits(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A collective that, according to torch_npu's documentation, has limits that NCCL does not have.

    Reported once per file and function.
    """
    name = (file.qualname(node.func) or "").rpartition(".")[2]
    if name not in _LIMITS or file.recall(("NPU316", name)):
        return
    file.remember(("NPU316", name), True)
    advice = (
        "check that data types and number of processes are within these limits; HCCL itself supports more types than "
        "the list says"
    )
    if name.startswith("all_to_all"):
        advice += (
            ". On a first-generation 910 the processes of a machine must fill whole halves of it (cards 0-3, 4-7), and "
            "HCCL_BUFFSIZE smaller than a message makes it slow"
        )
    yield file.report(
        node,
        phrase("{name} is documented for the NPU with limits: {LIMITS}", name=name, LIMITS=_LIMITS[name]),
        subject=f"torch.distributed.{name}",
        advice=advice,
    )


@rule(
    "NPU317",
    "process-group-timeout",
    Safety.MANUAL,
    Severity.INFO,
    words=("init_process_group", "new_group"),
    names=("torch.distributed.init_process_group", "torch.distributed.new_group"),
    evidence=Evidence.DOCUMENTED,
    source="HCCL's documentation of HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT",
)
def process_group_timeout(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The process group gets a timeout, but HCCL has timeouts of its own."""
    if not any(keyword.arg == "timeout" for keyword in node.keywords):
        return
    backend = argument(node, 0 if file.code(node.func).endswith("init_process_group") else 2, "backend")
    if isinstance(backend, ast.Constant) and backend.value in ("gloo", "mpi"):
        return
    yield file.report(
        node,
        "HCCL has two timeouts besides this one: 120 s to connect, and 1836 s for a collective",
        subject="HCCL_EXEC_TIMEOUT",
        advice="to wait longer, also raise HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT (seconds) in the environment; "
        "this timeout should exceed both, so that HCCL reports first",
    )


_RPC_OPTIONS = "torch.distributed.rpc.TensorPipeRpcBackendOptions"
_RPC_SETTERS = frozenset(("set_device_map", "set_devices"))


@rule(
    "NPU318",
    "rpc-device-map",
    Safety.MANUAL,
    Severity.ERROR,
    words=("device_maps=", "devices=[", "set_device_map(", "set_devices("),
    also_in_file=("rpc",),
    source="torch_npu/distributed/rpc/options.py and backend_registry.py",
)
def rpc_device_map(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """RPC moves tensors between devices with TensorPipe, which supports CUDA devices; torch_npu has its own backend.

    RPC that carries CPU tensors needs no change, and is not reported.
    """
    if not file.contains(b"rpc"):
        return
    if (file.qualname(node.func) or "") == _RPC_OPTIONS:
        if not any(keyword.arg in ("device_maps", "devices") for keyword in node.keywords):
            return
    elif getattr(node.func, "attr", "") not in _RPC_SETTERS or not file.contains(b"torch.distributed"):
        return
    yield file.report(
        node,
        "the devices of TensorPipeRpcBackendOptions are CUDA devices",
        subject=_RPC_OPTIONS,
        advice="use torch_npu.distributed.rpc.options.NPUTensorPipeRpcBackendOptions, which takes the same arguments, "
        "and pass backend=rpc.backend_registry.BackendType.NPU_TENSORPIPE to init_rpc",
    )
