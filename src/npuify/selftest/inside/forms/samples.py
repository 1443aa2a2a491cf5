"""What functions of an example are called with, and what the names stand for that it leaves to the reader."""

from __future__ import annotations

import os
import pkgutil
from typing import Any
from unittest import mock

import torch
from torch import nn

from npuify.selftest.inside.forms.libraries import Thing

KINDS = ("tensor", "int", "str", "dict", "half", "list", "module", "thing")
"""What an argument may be of which nothing but a meaningless name is known; they are tried in this order."""


class Net(nn.Module):
    """A model that takes whatever it is given, and has what programs ask of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, *inputs: Any, **named: Any) -> torch.Tensor:
        for value in (*inputs, *named.values()):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.shape[-1:] == (4,):
                return self.layer(value.to(self.layer.weight.device, self.layer.weight.dtype))
        weight = self.layer.weight
        return self.layer(torch.ones(2, 4, dtype=weight.dtype).to(weight.device))


def npu(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor on the NPU."""
    return torch.ones(*size, dtype=dtype).npu()


def _heads(dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return npu(2, 8, 4, 16, dtype=dtype)


def _loader() -> list[Any]:
    return [(npu(2, 4), torch.tensor([0, 1]).npu())]


def _optimizer() -> Any:
    return torch.optim.SGD(Net().npu().parameters(), lr=0.1)


_PACKED = {"q": (16, 4, 16), "k": (16, 4, 16), "v": (16, 4, 16), "qkv": (16, 3, 4, 16), "kv": (16, 2, 4, 16)}
"""Sizes of what is packed, where a name may stand for that."""


class Patches:
    """What pytest gives as ``monkeypatch``, without putting anything back: the process ends soon."""

    def setattr(self, target: Any, name: Any, value: Any = None) -> None:
        """Set it; by a dotted name, or of an object."""
        if isinstance(target, str):
            owner, _, last = target.rpartition(".")
            setattr(pkgutil.resolve_name(owner), last, name)
        else:
            setattr(target, name, value)

    def setenv(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        os.environ[name] = value


BY_NAME: dict[str, Any] = {
    "lengths": lambda: [8, 8],
    "dim": lambda: 16,
    "heads": lambda: 4,
    "monkeypatch": Patches,
    "mock": lambda: mock,
    "shape": lambda: (2, 4),
    "data": lambda: [1.0, 2.0],
    "rate": lambda: 0.1,
    **dict.fromkeys(("q", "k", "v", "query", "key", "value", "qkv_half"), _heads),
    **dict.fromkeys(
        ("model", "net", "module", "network", "encoder", "decoder", "layer", "self.model"), lambda: Net().npu()
    ),
    **dict.fromkeys(("loader", "dataloader", "train_loader", "data_loader", "val_loader", "batches"), _loader),
    **dict.fromkeys(("optimizer", "optim", "opt"), _optimizer),
    **dict.fromkeys(("criterion", "loss_fn"), nn.CrossEntropyLoss),
    **dict.fromkeys(("device", "dev"), lambda: torch.device("npu:0")),
    **dict.fromkeys(("device_id", "gpu", "local_rank", "rank", "index", "idx", "gpu_id"), lambda: 0),
    **dict.fromkeys(("args", "cfg", "config", "opts", "options", "conf", "ctx", "argv"), Thing),
    **dict.fromkeys(("labels", "targets", "target", "y_true"), lambda: torch.tensor([0, 1]).npu()),
    **dict.fromkeys(("world_size", "num_gpus", "n", "steps", "epochs", "size"), lambda: 1),
    **dict.fromkeys(("name", "path", "filename", "checkpoint"), lambda: "name"),
    **dict.fromkeys(("dropout", "dropout_p", "p", "scale", "softmax_scale", "lr", "eps"), lambda: 0.1),
    **dict.fromkeys(("causal", "training", "enabled", "flag", "use_cuda", "use_gpu", "late"), lambda: True),
    **dict.fromkeys(("dtype",), lambda: torch.float16),
    **dict.fromkeys(
        ("cu", "cu_q", "cu_k", "cu_seqlens", "cu_seqlens_q", "cu_seqlens_k"),
        lambda: torch.tensor([0, 8, 16], dtype=torch.int32).npu(),
    ),
    **dict.fromkeys(("longest", "max_seqlen", "max_seqlen_q", "max_seqlen_k"), lambda: 8),
    "qkv": lambda: npu(2, 8, 3, 4, 16, dtype=torch.float16),
    "kv": lambda: npu(2, 8, 2, 4, 16, dtype=torch.float16),
    "params": lambda: list(Net().npu().parameters()),
    "parameters": lambda: list(Net().npu().parameters()),
}
BY_ANNOTATION: dict[str, Any] = {
    "Tensor": lambda: npu(2, 4),
    "Module": lambda: Net().npu(),
    "device": lambda: torch.device("npu:0"),
    "int": lambda: 0,
    "float": lambda: 0.5,
    "str": lambda: "npu:0",
    "bool": lambda: True,
    "dtype": lambda: torch.float16,
    "Optimizer": _optimizer,
    "DataLoader": _loader,
}


def sample(name: str, annotation: str, kind: str) -> Any:
    """An argument for a parameter, or a value for a name."""
    last = annotation.strip("'\"").partition("|")[0].strip().rpartition(".")[2]
    if kind in ("tensor", "half", "list"):
        if last in BY_ANNOTATION and not (last == "Tensor" and name in BY_NAME):
            return BY_ANNOTATION[last]()
        if name in BY_NAME:
            packed = _PACKED.get(name) if kind == "half" else None
            return npu(*packed, dtype=torch.float16) if packed else BY_NAME[name]()
    if name in BY_NAME and kind in ("int", "str", "dict"):
        return BY_NAME[name]()  # what the name says; the others may be anything
    return _of_kind(kind)


def _of_kind(kind: str) -> Any:
    match kind:
        case "tensor":
            return npu(2, 4)
        case "half":
            return npu(2, 8, 4, 16, dtype=torch.float16)
        case "int":
            return 0
        case "str":
            return "npu:0"
        case "dict":
            return {"x": npu(2, 4)}
        case "module":
            return Net().npu()
        case "list":
            return _loader()
        case _:
            return Thing()
