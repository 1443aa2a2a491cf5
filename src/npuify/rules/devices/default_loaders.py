"""What draws random orders where the program's default tensor type was one of CUDA's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments
from npuify.rules.devices.default_types import cuda_is_default
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DRAW: Final = frozenset(("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "random_split"))
_HOLDERS: Final = (
    "torch.utils.data",
    "torch.utils.data.sampler",
    "torch.utils.data.dataloader",
    "torch.utils.data.dataset",
)


@rule(
    "NPU141",
    "order-drawn-on-default-device",
    Safety.SAFE,
    Severity.ERROR,
    words=("dataloader(", "randomsampler(", "random_split("),
    concerns=cuda_is_default,
    evidence=Evidence.PACKAGE,
    source="torch/utils/data/sampler.py: a generator of the CPU for torch.randperm, which follows the default device",
)
def order_drawn_on_default_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """With the device as the default, what shuffles draws an order there with a generator of the CPU, which fails.

    It is given a generator of the default device.

    Before::

        import torch
        from torch.utils.data import RandomSampler
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        order = RandomSampler(data)

    After::

        import torch
        import torch_npu  # noqa: F401
        from torch.utils.data import RandomSampler
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("npu")
        order = RandomSampler(data, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
    """
    holder, _, word = (file.qualname(node.func) or "").rpartition(".")
    if holder not in _HOLDERS or not cuda_is_default(file.source.data, file.project):
        return
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "generator" in given or has_unknown_arguments(node):
        return
    if word == "DataLoader":
        shuffle = given.get("shuffle", node.args[2] if len(node.args) > 2 else None)
        if shuffle is None or (isinstance(shuffle, ast.Constant) and not shuffle.value):
            return
    elif word not in _DRAW:
        return
    torch = _torch(file)
    made = f"generator={torch}.Generator({torch}.empty(0).device).manual_seed({torch}.initial_seed())"
    yield file.report(
        node,
        "it draws an order on the default device with a generator of the CPU",
        edits=[add_argument(node, made, file)] if torch else [],
        subject=f"torch.utils.data.{word}",
        advice="" if torch else "give it a torch.Generator of the default device",
    )


def _torch(file: PythonFile) -> str:
    """How the file calls torch; empty where it imports only parts of it."""
    for statement in file.source.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return alias.asname or "torch"
    return ""
