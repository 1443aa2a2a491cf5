"""Programs on JAX: Ascend does not run them. What a file is for decides what is left to do."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import commas, phrase, plural
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.mixed import has_jax_for_data
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PACKAGES = frozenset(("jax", "flax", "haiku", "optax", "equinox", "orbax"))
_WORDS = ("jax", "flax", "haiku", "equinox", "optax")
_IMPORTS = ("import jax", "from jax", "import flax", "from flax", "import haiku", "import equinox", "import optax")
_SOURCE = "jax 0.10.2: the platforms that jax._src.xla_bridge knows; no plug-in for Ascend is published"
_KINDS = (
    (
        "sharding over devices",
        re.compile(
            rb"\bjax\.sharding\b|\bPartitionSpec\(|\bNamedSharding\(|\bMesh\(|\bshard_map\(|\bpmap\(|\bpjit\(|\bmesh_utils\."
            rb"|\bjax\.lax\.(?:psum|pmean|all_gather|ppermute|all_to_all|axis_index)\b|\bwith_sharding_constraint\("
        ),
        "rewrite it with torch.distributed (FSDP, DTensor) over HCCL",
    ),
    (
        "a training loop",
        re.compile(rb"\boptax\.\w+|\bvalue_and_grad\(|\bjax\.grad\(|\bTrainState\b|\bapply_updates\("),
        "rewrite it as a PyTorch loop with torch.optim",
    ),
    (
        "a model",
        re.compile(
            rb"\bflax\b|\bhaiku\b|\bequinox\b|\bjax\.nn\b|\((?:nn|linen|nnx|hk|eqx)\.Module\)|\b(?:nn|nnx|hk|eqx)\."
            rb"(?:Dense|Linear|Conv\w*|LayerNorm|BatchNorm|Embed\w*|Param|compact)\b"
        ),
        "rewrite it as a torch.nn.Module, and convert its weights",
    ),
    (
        "a kernel",
        re.compile(rb"\bpallas\b|\bpl\.pallas_call\("),
        "rewrite it as an Ascend C or Triton kernel, or compute it with PyTorch's operators",
    ),
)
_WAYS = "or keep it on the CPU with JAX_PLATFORMS=cpu, or on the hardware that it has"
_ON_THE_CPU = "set JAX_PLATFORMS=cpu before jax is imported"


@rule(
    "NPU960",
    "jax-program",
    Safety.MANUAL,
    Severity.ERROR,
    words=_WORDS,
    also_in_file=_IMPORTS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source=_SOURCE,
)
def jax_program(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A file computes with JAX, for which Ascend has no plug-in.

    It is told once a file, with what the file is for, and how many places of it there are: a model, a training loop,
    sharding, a kernel. What only uses ``jax.numpy``, as a data pipeline does, can stay on the CPU (NPU961).
    """
    places = _places(node, file)
    if not places:
        return
    counted = commas(
        plural("{kind} ({count} place)", "{kind} ({count} places)", count, kind=phrase(kind))
        for kind, count, _ in places
    )
    yield file.report(
        node,
        phrase("JAX does not run on Ascend, and this file has {counted}", counted=counted),
        subject="jax",
        advice=phrase("{advice}, {ways}", advice=phrase(places[0][2]), ways=_WAYS),
    )


@rule(
    "NPU961",
    "jax-for-data",
    Safety.MANUAL,
    Severity.INFO,
    words=_WORDS,
    also_in_file=_IMPORTS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source=_SOURCE,
)
def jax_for_data(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A file uses JAX for what a CPU can do as well, such as preparing data: it can stay there."""
    if _places(node, file) == []:
        yield file.report(
            node,
            "JAX runs on an Ascend machine's CPU only; this file can stay there",
            subject="jax",
            advice=_ON_THE_CPU,
        )


def _places(node: ast.Import | ast.ImportFrom, file: PythonFile) -> list[tuple[str, int, str]] | None:
    """What a file does with JAX that needs a card: the kind, how many places, and the way out.

    Returns:
        None where the import is not the file's first of JAX, or the project is one of these packages itself.
    """
    if not _PACKAGES.isdisjoint(file.project.packages) or file.recall("jax") not in (None, node):
        return None
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    if getattr(node, "level", 0) or _PACKAGES.isdisjoint(name.partition(".")[0] for name in names):
        return None
    file.remember("jax", node)
    if has_jax_for_data(file):
        return []  # the layers that it has are PyTorch's
    data = file.source.data
    found = [(kind, len(pattern.findall(data)), way) for kind, pattern, way in _KINDS]
    return [one for one in found if one[1]]
