"""Programs on JAX: Ascend does not run them. What a file is for decides what is left to do."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PACKAGES = frozenset(("jax", "flax", "haiku", "optax", "equinox", "orbax"))
_KINDS = (
    (
        "sharding over devices",
        re.compile(rb"\bjax\.(?:sharding|pmap|experimental\.(?:shard_map|mesh_utils|pjit))\b|\bshard_map\b|\bpmap\b"),
        "rewrite it with torch.distributed (FSDP, DTensor) over HCCL",
    ),
    (
        "a training loop",
        re.compile(rb"\boptax\.|\bvalue_and_grad\b|\bjax\.grad\b|\bTrainState\b"),
        "rewrite it as a PyTorch loop with torch.optim",
    ),
    (
        "a model",
        re.compile(rb"\bflax\b|\bhaiku\b|\bequinox\b|\bjax\.nn\b"),
        "rewrite it as a torch.nn.Module, and convert its weights",
    ),
    (
        "a kernel",
        re.compile(rb"\bpallas\b"),
        "rewrite it as an Ascend C or Triton kernel, or compute it with PyTorch's operators",
    ),
)
_WAYS = "or keep it on the CPU with JAX_PLATFORMS=cpu, or on the hardware that it has"


@rule(
    "NPU960",
    "jax-program",
    Safety.MANUAL,
    Severity.ERROR,
    words=("jax", "flax", "haiku", "equinox", "optax"),
    also_in_file=(
        "import jax",
        "from jax",
        "import flax",
        "from flax",
        "import haiku",
        "import equinox",
        "import optax",
    ),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="jax 0.10.2: the platforms that jax._src.xla_bridge knows; no plug-in for Ascend is published",
)
def jax_program(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A file computes with JAX, for which Ascend has no plug-in.

    It is told once a file, with what the file is for: a model, a training loop, sharding, a kernel. What only uses
    ``jax.numpy``, as a data pipeline does, can stay on the CPU.
    """
    if not _PACKAGES.isdisjoint(file.project.packages) or file.recall("jax") is not None:
        return
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    if getattr(node, "level", 0) or _PACKAGES.isdisjoint(name.partition(".")[0] for name in names):
        return
    file.remember("jax", node)
    what, advice = next(
        ((kind, way) for kind, pattern, way in _KINDS if pattern.search(file.source.data)),
        ("", ""),
    )
    yield file.report(
        node,
        f"JAX does not run on Ascend, and this file has {what}" if what else "JAX runs on an Ascend machine's CPU only",
        severity=Severity.ERROR if what else Severity.INFO,
        subject="jax",
        advice=f"{advice}, {_WAYS}" if what else "set JAX_PLATFORMS=cpu before jax is imported",
    )
