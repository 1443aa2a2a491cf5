"""Differences that devices explain: which of them applies here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from npuify.language import phrase
from npuify.model import Evidence

from .metrics import is_floating
from .result import Difference, Explanation

if TYPE_CHECKING:
    from .matching import Pairs
    from .metrics import Meter
    from .model import Capture, Rank, Tensor

_FIRST_GENERATION = ("Ascend910A", "Ascend910ProA", "Ascend910PremiumA", "Ascend910ProB", "Ascend910B-", "Ascend310")
"""Beginnings of the names of chips that saturate; ``Ascend910B`` alone was first generation, too."""
_TF32 = 3e-3


def float64_lost(pairs: Pairs, meter: Meter, b: Rank) -> list[Difference]:
    """The first result that is float64 in A and coarser, or only as exact as float32, in B."""
    for a_call, b_call in pairs.calls:
        for left, right in zip(a_call.outputs, b_call.outputs, strict=False):
            if left.dtype not in ("float64", "complex128"):
                continue
            if right.dtype in ("float32", "float16", "bfloat16", "complex64"):
                message = phrase("{dtype} in A, {dtype2} in B", dtype=left.dtype, dtype2=right.dtype)
            elif _as_float32(right) and not _as_float32(left):
                message = "float64 on both sides, but B's values have float32 precision"
            else:
                continue
            expected = b.device == "npu"
            return [
                Difference(
                    kind="float64-lost",
                    severity="note" if expected else "warning",
                    name=a_call.name,
                    message=message,
                    step=a_call.step,
                    phase=a_call.phase,
                    at=a_call.end,
                    place=a_call.place,
                    where=f"result {left.slot}",
                    metrics=meter.measure(left, right),
                    explanations=(_FLOAT64,) if expected else (),
                )
            ]
    return []


_FLOAT64 = Explanation(
    "float64-becomes-float32",
    "an NPU has no float64 arithmetic: torch_npu computes in float32 and only warns",
    True,
    Evidence.DOCUMENTED,
)


def _as_float32(tensor: Tensor) -> bool:
    from .values import numpy

    np = numpy()
    values = tensor.load() if tensor.load is not None else None
    if values is None or values.dtype != np.float64 or values.size < 4:
        return False
    finite = values[np.isfinite(values) & (np.abs(values) < 1e38)]
    if not finite.size or bool(np.all(finite == np.round(finite))):
        return False
    return bool(np.all(finite == finite.astype(np.float32).astype(np.float64)))


def explained(difference: Difference, a: Capture, b: Capture, ranks: tuple[Rank, Rank]) -> Difference:
    """``difference`` with what may be behind it."""
    found = [*difference.explanations]
    metrics = difference.metrics
    left, right = ranks
    found += _settings(difference, left, right)
    if metrics is not None:
        found += _saturation(difference, b)
        found += _half(difference)
        if "float64" in metrics.dtypes and metrics.dtypes[0] != metrics.dtypes[1] and _FLOAT64 not in found:
            if "npu" in (left.device, right.device):
                found.append(_FLOAT64)
        found += _reduced(difference, left, right)
        if metrics.ratio is not None and difference.kind in ("forward", "backward", "loss"):
            found.append(
                Explanation(
                    "one-factor",
                    phrase(
                        "B is {ratio:.6g} times A throughout: a scale factor, a mean instead of a sum, or a "
                        "missing division",
                        ratio=metrics.ratio,
                    ),
                    False,
                    Evidence.ASSUMED,
                )
            )
    module = left.modules.get(difference.name) or right.modules.get(difference.name)
    place = difference.place or (module.place if module is not None else "")
    return msgspec.structs.replace(difference, explanations=tuple(found), place=place)


def _settings(difference: Difference, a: Rank, b: Rank) -> list[Explanation]:
    """Settings of the module itself that differ."""
    from .matching import plain

    ours = {plain(name): module for name, module in a.modules.items()}.get(plain(difference.name))
    theirs = {plain(name): module for name, module in b.modules.items()}.get(plain(difference.name))
    if ours is None or theirs is None:
        return []
    found = []
    if ours.kind != theirs.kind:
        found.append(
            Explanation(
                "class",
                phrase("its class is {kind} in A and {kind2} in B", kind=ours.kind, kind2=theirs.kind),
                False,
                Evidence.LIVE,
            )
        )
    for key in sorted(set(ours.settings) & set(theirs.settings)):
        left, right = ours.settings[key], theirs.settings[key]
        if left != right:
            found.append(
                Explanation(
                    "setting",
                    phrase(
                        "its {key} is {short} in A and {short2} in B", key=key, short=_short(left), short2=_short(right)
                    ),
                    False,
                    Evidence.LIVE,
                )
            )
    return found[:6]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _saturation(difference: Difference, b: Capture) -> list[Explanation]:
    metrics = difference.metrics
    assert metrics is not None
    if metrics.problem not in ("overflow", "nan"):
        return []
    finite_b = not (metrics.nan[1] or metrics.inf[1])
    name = b.device_name
    old = name.startswith(_FIRST_GENERATION) or name in ("Ascend910", "Ascend910B")
    if finite_b and "npu" in b.device and (old or b.ranks[0].switches.get("INF_NAN_MODE_ENABLE") == "0"):
        return [
            Explanation(
                "saturation",
                phrase(
                    "{value} saturates: it produces the type's largest number instead of infinity or NaN",
                    value=name or "this chip",
                ),
                True,
                Evidence.DOCUMENTED,
            )
        ]
    if finite_b and "npu" in b.device:
        text = "A overflows and B does not: first-generation chips saturate, but this one is not known to"
        return [Explanation("overflow-in-a", text, False, Evidence.ASSUMED)]
    return []


def _half(difference: Difference) -> list[Explanation]:
    metrics = difference.metrics
    assert metrics is not None
    if metrics.problem not in ("overflow", "nan") or not (metrics.inf[1] or metrics.nan[1]):
        return []
    if metrics.dtypes[1] == "float16":
        text = phrase(
            "B is float16, whose largest number is 65504; A's values here reach {largest:.4g}",
            largest=metrics.largest[0],
        )
        return [Explanation("half-overflow", text, False, Evidence.DOCUMENTED)]
    return []


def _reduced(difference: Difference, a: Rank, b: Rank) -> list[Explanation]:
    """TF32 or HF32 on one side, where the error is as large as that makes it."""
    metrics = difference.metrics
    assert metrics is not None
    small = metrics.norm_error <= _TF32 and metrics.dtype == "float32" and is_floating(metrics.dtypes[0])
    found = []
    for side, rank in (("A", a), ("B", b)):
        switches = rank.switches
        tf32 = rank.device == "cuda" and (
            switches.get("cuda.matmul.allow_tf32")
            or switches.get("cudnn.allow_tf32")
            or switches.get("float32_matmul_precision") in ("high", "medium")
        )
        hf32 = rank.device == "npu" and (switches.get("npu.matmul.allow_hf32") or switches.get("npu.conv.allow_hf32"))
        if small and (tf32 or hf32):
            name = "TF32" if tf32 else "HF32"
            text = phrase(
                "{side} multiplies float32 in {name}, which the program turned on: ten bits or so are kept",
                side=side,
                name=name,
            )
            found.append(Explanation(name.lower(), text, True, Evidence.DOCUMENTED))
    return found


def reduced_precision(a: Rank, b: Rank) -> bool:
    """Whether one side multiplies float32 in TF32 or HF32."""
    return any(
        (
            rank.device == "cuda"
            and (
                rank.switches.get("cuda.matmul.allow_tf32")
                or rank.switches.get("cudnn.allow_tf32")
                or rank.switches.get("float32_matmul_precision") in ("high", "medium")
            )
        )
        or (
            rank.device == "npu"
            and (rank.switches.get("npu.matmul.allow_hf32") or rank.switches.get("npu.conv.allow_hf32"))
        )
        for rank in (a, b)
    )
