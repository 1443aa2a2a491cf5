"""What a torch_npu release has for an operator with given types."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import commas, phrase
from npuify.model import Evidence

from .result import Support

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.knowledge import ReleaseTable

_TYPES = Path(__file__).resolve().parent / "data" / "operator_types.json"
_JUDGED = ("float64", "complex", "float8")
"""Types that few kernels take. The list leaves out bfloat16 too, also where it is known to work (matrix products)."""
_ON_THE_NPU = {
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "scaled_dot_product_attention",
    "mkldnn_rnn_layer": "lstm",
    "mkldnn_rnn_layer_backward": "lstm",
}
"""Operators that PyTorch takes on the CPU only, and what it takes on the NPU in their place."""
_VIEWS = frozenset(
    ("aten::detach", "aten::alias", "aten::lift_fresh", "aten::t", "aten::_has_compatible_shallow_copy_type")
)


class Verdict(NamedTuple):
    """Support, what to tell a person, and how it is known."""

    support: Support
    message: str
    evidence: Evidence
    source: str


def judge(release: ReleaseTable, name: str, overload: str, types: Iterable[str], composite: bool) -> Verdict:
    """What ``release`` has for an operator.

    Args:
        name: with its namespace, ``aten::add``.
        types: of its floating-point and complex inputs and outputs, ``float32``.
        composite: PyTorch has an implementation of it in terms of other operators.
    """
    namespace, _, plain = name.partition("::")
    if namespace == "npu":
        if plain in release.custom_operators:
            return Verdict(
                Support.KERNEL, "", Evidence.PACKAGE, phrase("torch_npu {torch_npu}", torch_npu=release.torch_npu)
            )
        return Verdict(
            Support.UNSUPPORTED,
            phrase("torch_npu {torch_npu} has no operator {plain}", torch_npu=release.torch_npu, plain=plain),
            Evidence.PACKAGE,
            phrase("torch_npu {torch_npu}", torch_npu=release.torch_npu),
        )
    if namespace in ("c10d", "_c10d_functional", "c10d_functional"):
        return Verdict(Support.KERNEL, "a collective, done by HCCL", Evidence.DOCUMENTED, "torch_npu's backend hccl")
    if namespace != "aten":
        return Verdict(
            Support.FALLBACK,
            phrase(
                "{name} is not one of PyTorch's own operators; without an NPU kernel of its package it runs on the CPU",
                name=name,
            ),
            Evidence.ASSUMED,
            "",
        )
    if plain in _ON_THE_NPU:
        return Verdict(
            Support.KERNEL,
            phrase("the CPU's form of {ON_THE_NPU}", ON_THE_NPU=_ON_THE_NPU[plain]),
            Evidence.PACKAGE,
            phrase("torch_npu {torch_npu}", torch_npu=release.torch_npu),
        )
    how, evidence, source = _served(release, plain, overload, composite)
    if how is Support.KERNEL:
        return _types(plain, tuple(types)) or Verdict(how, "", evidence, source)
    return Verdict(how, phrase(_MESSAGES[how], version=release.torch_npu), evidence, source)


_MESSAGES = {
    Support.COMPOSITE: "PyTorch makes it of other operators",
    Support.FALLBACK: "torch_npu {version} has no NPU kernel for it: it runs on the host's CPU",
    Support.UNSUPPORTED: "torch_npu {version} has nothing for it, not even the way over the CPU",
}
_ANSWERS = {
    "kernel": Support.KERNEL,
    "default": Support.COMPOSITE,
    "composite": Support.COMPOSITE,
    "fallback": Support.FALLBACK,
    "none": Support.UNSUPPORTED,
}
"""What the imported package answered."""


def _served(release: ReleaseTable, plain: str, overload: str, composite: bool) -> tuple[Support, Evidence, str]:
    """What serves an ATen operator, how that is known, and from where."""
    asked = getattr(release, "operator_support", {}).get(plain, {}).get(overload)
    if asked in _ANSWERS:
        return _ANSWERS[asked], Evidence.LIVE, phrase("torch_npu {torch_npu}, imported", torch_npu=release.torch_npu)
    source = phrase("torch_npu {torch_npu}, npu_native_functions.yaml", torch_npu=release.torch_npu)
    if _has_kernel(release, plain, overload):
        return Support.KERNEL, Evidence.PACKAGE, source
    if composite or f"aten::{plain}" in _VIEWS:
        return Support.COMPOSITE, Evidence.PACKAGE, "PyTorch"
    return Support.FALLBACK, Evidence.PACKAGE, source


def _has_kernel(release: ReleaseTable, plain: str, overload: str) -> bool:
    overloads = release.operators.get(plain, ())
    if overload in overloads:
        return True
    # PyTorch makes the plain and the in-place form of an operator from the one that writes to a given output.
    base = plain[:-1] if plain.endswith("_") and not plain.startswith("__") else plain
    outs = {"out", f"{overload}_out", f"{overload.lower()}_out", "grad_input"}
    if overload in ("Tensor", ""):
        outs |= {"out", "Tensor_out"}
    return any(out in release.operators.get(base, ()) for out in outs)


@cache
def documented_types() -> dict[str, tuple[frozenset[str], str]]:
    """Operator → the types that the vendor's list of APIs names for its input, and the API."""
    if not _TYPES.is_file():
        return {}
    content = json.loads(_TYPES.read_text(encoding="utf-8"))
    return {name: (frozenset(types.split()), api) for name, (api, types) in content["operators"].items()}


def _types(plain: str, given: tuple[str, ...]) -> Verdict | None:
    known = documented_types().get(plain.rstrip("_"))
    if known is None:
        return None
    types, api = known
    foreign = sorted({one for one in given if one.startswith(_JUDGED) and one not in types})
    if not foreign:
        return None
    return Verdict(
        Support.TYPE,
        phrase(
            "the documentation of {api} does not name {foreign}; it names {types}",
            api=api,
            foreign=commas(foreign),
            types=commas(sorted(types)),
        ),
        Evidence.DOCUMENTED,
        "Ascend/pytorch docs/zh/api/native_api",
    )
