"""Lies about the simulated NPU, for every Python that is started with this folder on its path: each must be found, and named."""

from __future__ import annotations

import os
import time
from typing import Any


def tell() -> None:
    """Put a lie in the place of several truths."""
    import torch
    import torch.distributed as dist
    import torch_npu  # noqa: F401

    npu: Any = torch.npu  # type: ignore[attr-defined]

    # A wrong return value.
    npu.get_device_capability = lambda device=None: (8, 0)

    # A hang and a crash.
    npu.current_blas_handle = lambda: time.sleep(10_000)
    npu.utilization = lambda device=None: os.abort()

    # A type that is refused.
    cumsum = torch.cumsum

    def without_bfloat16(x: Any, *args: Any, **kwargs: Any) -> Any:
        if x.device.type == "npu" and x.dtype is torch.bfloat16:
            raise RuntimeError("cumsum does not take DT_BFLOAT16")
        return cumsum(x, *args, **kwargs)

    torch.cumsum = without_bfloat16

    # A kernel that is missing.
    erf = torch.erf

    def without_kernel(x: Any, *args: Any, **kwargs: Any) -> Any:
        if x.device.type == "npu":
            raise NotImplementedError("Could not run 'aten::erf' with arguments from the 'PrivateUse1' backend")
        return erf(x, *args, **kwargs)

    torch.erf = without_kernel

    # A module in the place of a CUDA kernel, and an operator of torch_npu, that compute something else.
    from npuify.helpers.replacements.sequences import hadamard

    transform = hadamard.fast_hadamard_transform
    hadamard.fast_hadamard_transform = lambda x, scale: transform(x, scale * (1.5 if x.device.type == "npu" else 1.0))

    one_hot = torch.ops.npu.npu_one_hot

    class Doubled:
        _schema = one_hot.default._schema

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return one_hot(*args, **kwargs) * 2

    one_hot.default = Doubled()

    # A collective that averages.
    all_reduce = dist.all_reduce

    def averaging(tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **kwargs: Any) -> Any:
        if op == dist.ReduceOp.SUM and tensor.dtype is torch.float16:
            op = dist.ReduceOp.AVG
        return all_reduce(tensor, op, *args, **kwargs)

    dist.all_reduce = averaging


if os.environ.get("NPUIFY_SIMULATE"):
    tell()
