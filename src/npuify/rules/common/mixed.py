"""Files that use another framework beside PyTorch: whether it computes there, or only prepares data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.rules.common.calls import imports_torch

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_TENSORFLOW = re.compile(rb"(?:^|\n)[ \t]*(?:import|from)[ \t]+tensorflow\b")
_TENSORFLOW_MODEL = re.compile(
    rb"\bkeras\b|\bGradientTape\b|\bSession\b|\bcompat\.v1\b|\btf\.(?:nn|train|function|Variable|Module|estimator|layers"
    rb"|contrib|distribute(?!\.InputContext)|saved_model|lite|app|placeholder)\b|\bnpu_(?:device|bridge)\b"
)
_JAX = re.compile(rb"(?:^|\n)[ \t]*(?:import|from)[ \t]+(?:jax|flax)\b")
_JAX_MODEL = re.compile(
    rb"\bflax\b|\bhaiku\b|\bequinox\b|\boptax\b|\bjax\.(?:nn|grad|sharding|pmap|experimental)\b|\bvalue_and_grad\b|\bpmap\b"
    rb"|\bpallas\b|\bshard_map\b"
)


def has_tensorflow_for_data(file: PythonFile) -> bool:
    """Whether a file of PyTorch's uses TensorFlow, and nothing of it that models are made of."""
    data = file.source.data
    return imports_torch(file) and _TENSORFLOW.search(data) is not None and _TENSORFLOW_MODEL.search(data) is None


def has_jax_for_data(file: PythonFile) -> bool:
    """Whether a file of PyTorch's uses JAX, and nothing of it that models are made of."""
    data = file.source.data
    return imports_torch(file) and _JAX.search(data) is not None and _JAX_MODEL.search(data) is None


def hides_cards_from_others(file: PythonFile, value: str | None) -> bool:
    """Whether ``CUDA_VISIBLE_DEVICES`` hides all cards from TensorFlow or JAX in a file that computes with PyTorch."""
    data = file.source.data
    beside = _TENSORFLOW.search(data) is not None or _JAX.search(data) is not None
    return value in ("", "-1") and beside and (imports_torch(file) or b"import torch" in data)
