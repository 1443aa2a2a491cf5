"""What calls, attributes and classes of torch and of other packages make, asked of the table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from npuify.analysis.library.table import (
    ATTRIBUTES,
    BASES,
    FAMILIES,
    MEMBERS,
    NAMES,
    PLAIN_BASES,
    TORCH_MODULES,
    Gives,
    Result,
)
from npuify.analysis.values import MODELS, STRINGS, Kind, Value, Values, one

if TYPE_CHECKING:
    from npuify.analysis.values import Place

_DEVICE = re.compile(
    r"(?:cpu|cuda|mps|xpu|npu|hpu|mlu|ipu|xla|hip|meta|musa|sdaa|maia|privateuseone)(?::(?:\d+|%d|%s|%i|\{[^{}]*\})?)?",
    re.IGNORECASE,
)
_BACKENDS = frozenset(("nccl", "gloo", "hccl", "mpi", "ucc", "xccl", "cpu:gloo,cuda:nccl", "cpu:gloo,npu:hccl"))
_HOMES = (
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.sampler.", "torch.utils.data."),
    ("torch.utils.data.distributed.", "torch.utils.data."),
    ("torch.optim.optimizer.", "torch.optim."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch._C.", "torch."),
)
"""Modules whose names are documented elsewhere."""
_OWN_NAMES = {
    Kind.TENSOR: "torch.Tensor",
    Kind.MODEL: "torch.nn.Module",
    Kind.LOSS: "torch.nn.Module",
    Kind.OPTIMIZER: "torch.optim.Optimizer",
    Kind.SCHEDULER: "torch.optim.lr_scheduler.LRScheduler",
    Kind.LOADER: "torch.utils.data.DataLoader",
    Kind.DATASET: "torch.utils.data.Dataset",
    Kind.ITERABLE_DATASET: "torch.utils.data.IterableDataset",
    Kind.SAMPLER: "torch.utils.data.Sampler",
    Kind.SCALER: "torch.amp.GradScaler",
    Kind.STREAM: "torch.Stream",
    Kind.EVENT: "torch.Event",
    Kind.DEVICE: "torch.device",
    Kind.STRING: "builtins.str",
    Kind.DEVICE_STRING: "builtins.str",
    Kind.BACKEND_STRING: "builtins.str",
    Kind.CONTAINER: "builtins.list",
    Kind.BATCH: "torch.Tensor",
    Kind.HEIR: "torch.nn.Module",
}
"""What the class of objects of each kind is called here."""
_KEEPING_DEVICE = frozenset(("format", "lower", "strip"))
"""Methods that leave a device's name what it is."""


def named(name: str) -> Values:
    """The value of a qualified name that no file of the project binds."""
    if name == "torch" or name.startswith("torch."):
        return one(Value(Kind.TORCH_MODULE if name in TORCH_MODULES else Kind.TORCH_NAME, name))
    return one(Value(Kind.LIBRARY_NAME, name))


def is_device_text(word: str) -> bool:
    """Whether a string names a device: ``cuda``, ``cuda:0``, ``cpu``."""
    return _DEVICE.fullmatch(word) is not None


def text(word: str) -> Value:
    """The value of a string."""
    if is_device_text(word):
        return Value(Kind.DEVICE_STRING, word)
    return Value(Kind.BACKEND_STRING if word in _BACKENDS else Kind.STRING, word)


@lru_cache(maxsize=4096)
def result_of(name: str) -> Result | None:
    """What a call of a qualified name gives; None where that is not known."""
    known = NAMES.get(name)
    if known is None:
        for old, new in _HOMES:
            if name.startswith(old):
                known = NAMES.get(name.replace(old, new, 1))
    if known is not None:
        return known
    head, _, last = name.rpartition(".")
    is_class = last[:1].isupper()
    for start, looks, result in FAMILIES:
        if name.startswith(start):
            word, _, end = looks.partition(" ")
            fits = not word or (word == "Class") == is_class
            # ``RandomSampler`` and ``DistributedSampler``, ``CrossEntropyLoss``, ``ResNet50_Weights``
            if fits and (not end or last.endswith(end) or (end == "Sampler" and end in last)):
                return result
    if head == "torch" and (last[:1].islower() or last.endswith("Tensor")):
        return Kind.TENSOR
    if last == "GradScaler":
        return Kind.SCALER
    if head.startswith("transformers"):
        return _of_transformers(last)
    if head.startswith("transformers.") or (name.startswith("transformers.") and last == "from_pretrained"):
        return Kind.MODEL if "Model" in head else None
    return None


def _of_transformers(last: str) -> Result | None:
    if last.startswith("get_") and last.endswith("_warmup"):
        return Kind.SCHEDULER
    return None


def result_of_method(value: Value, method: str) -> Result | None:
    """What a method of a package's object gives; None where that is not known."""
    if value.kind is Kind.DEVICE_STRING and method in _KEEPING_DEVICE:
        return Gives.SELF
    known = MEMBERS.get(_kind(value), {}).get(method)
    if known is None and value.kind is Kind.TENSOR and method.endswith("_") and not method.startswith("_"):
        return Kind.TENSOR  # in place
    return known


def attribute_of(value: Value, name: str) -> Values | None:
    """An attribute of a package's object: a value, or the name of a method that the table has; else None."""
    kind = ATTRIBUTES.get(_kind(value), {}).get(name)
    if kind is not None:
        return one(Value(kind, of=value if kind is Kind.DATASET else None, place=_place(kind, value)))
    if value.kind in MODELS and name == "module":
        return one(value)
    own = _OWN_NAMES.get(value.kind)
    if own is None or result_of_method(value, name) is None:
        return None
    kind = Kind.TORCH_NAME if own.startswith("torch.") else Kind.LIBRARY_NAME
    return one(Value(kind, f"{own}.{name}", of=value))


def _place(kind: Kind, value: Value) -> Place | None:
    return value.place if kind is Kind.DATASET else None


def _kind(value: Value) -> Kind:
    """The kind under which the table has the members of an object."""
    if value.kind is Kind.LOSS:
        return Kind.MODEL
    return Kind.STRING if value.kind in STRINGS else value.kind


def kind_of_base(name: str) -> Kind | None:
    """What objects of a class are that derives from ``name``; None where the base is not known.

    ``INSTANCE`` says that they are nothing of torch's.
    """
    if name in BASES:
        return BASES[name]
    if name in PLAIN_BASES:
        return Kind.INSTANCE
    if name.startswith(("torch.nn.functional.", "torch.nn.utils.", "torch.autograd.")):
        return Kind.INSTANCE
    result = result_of(name)
    last = name.rpartition(".")[2]
    if last in ("LightningModule", "PreTrainedModel") or (name.startswith("transformers.") and last.endswith("Model")):
        return Kind.MODEL
    if isinstance(result, Kind) and result not in (Kind.UNKNOWN, Kind.LIBRARY_OBJECT, Kind.NUMBER, Kind.STRING):
        return result
    return None
