"""Environment variables that a framework reads in another way than PyTorch does."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.knowledge.schema import EnvironmentFact

if TYPE_CHECKING:
    from collections.abc import Mapping


TENSORFLOW: Final = "TensorFlow"


class FrameworkVariable(EnvironmentFact, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/variables.toml``."""

    framework: str
    """As in ``owners.toml``."""


@cache
def variables_of(framework: str) -> Mapping[str, EnvironmentFact]:
    """The rows of a framework by variable; none for PyTorch, which is written ``""``."""
    rows = read_rows(DATA / "frameworks" / "variables.toml", "variable", FrameworkVariable) if framework else []
    return {
        name: msgspec.structs.replace(row, cuda=name, also=())
        for row in rows
        if row.framework == framework
        for name in (row.cuda, *row.also)
    }


_VLLM = re.compile(
    rb"\bvllm (?:serve|bench|run-batch|chat|complete)\b|\bvllm\.entrypoints\b|\bvllm/vllm-openai\b|/vllm-ascend:"
    rb"|(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+vllm\b",
    re.MULTILINE,
)
_PADDLE = re.compile(
    rb"\bpaddle\.distributed\.(?:launch|spawn)\b|\bpaddlepaddle\b|(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+paddle\b",
    re.MULTILINE,
)
_TORCH = re.compile(
    rb"\btorchrun\b|\btorch\.distributed\b|(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+torch\b", re.MULTILINE
)


_TENSORFLOW = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+(?:tensorflow|horovod\.(?:tensorflow|keras))\b", re.MULTILINE
)
_OTHERS = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+(?:torch|jax|flax|paddle|mxnet)", re.MULTILINE)


_JAX = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+(?:jax|flax)\b|\bXLA_PYTHON_CLIENT_|\bJAX_PLATFORM|\bjax\[cuda"
)
_NOT_JAX = re.compile(rb"\b(?:torch|tensorflow|paddle|vllm)")


_USES_TORCH = re.compile(
    rb"\bimport\b[^\n#]*torch|\bfrom[ \t]+\.*\w*torch|\btorch(?:_npu|vision|audio)?\.\w|[\"']torch\b|\btorchrun\b"
)


def uses_torch(data: bytes) -> bool:
    """Whether a text has to do with torch, more than by a word about it in a comment."""
    return b"torch" in data and _USES_TORCH.search(data) is not None


def framework_in(data: bytes) -> str:
    """The framework that the variables in a text are for, as ``owners.toml`` calls it; empty: PyTorch, or not known.

    vLLM counts before PyTorch, which it stands on; PaddlePaddle and TensorFlow where PyTorch is not used beside
    them, and JAX where none of the others is.
    """
    if b"vllm" in data and _VLLM.search(data) is not None:
        return "vLLM"
    if b"paddle" in data and _PADDLE.search(data) is not None and _TORCH.search(data) is None:
        return "PaddlePaddle"
    if b"tensorflow" in data and _TENSORFLOW.search(data) is not None and _OTHERS.search(data) is None:
        return TENSORFLOW
    if (b"jax" in data or b"JAX" in data or b"XLA_" in data) and _JAX.search(data) and not _NOT_JAX.search(data):
        return "JAX"
    return ""
