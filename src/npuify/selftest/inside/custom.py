"""torch_npu's own operators against the same mathematics in PyTorch's."""

from __future__ import annotations

from typing import Any

from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk, kernels_missing


def disagreements(operator: str) -> dict[str, str]:
    """Case and type → what is wrong with results or gradients; what agrees is left out."""
    import torch

    from npuify.selftest.inside.custom_cases import CASES

    cases = [case for case in CASES if case.name.partition(" ")[0].rstrip(",") == operator]
    if not cases:
        raise CannotAsk("there are no sample arguments")
    found: dict[str, str] = {}
    types = [torch.float32, torch.float16, *([torch.bfloat16] if torch.npu.is_bf16_supported() else [])]
    for case in cases:
        for dtype in types if case.low_precision else types[:1]:
            try:
                wrong = _wrong(case, dtype)
            except Exception as error:
                if kernels_missing(error):
                    raise CannotAsk("there is no kernel here") from None
                if isinstance(error, NotImplementedError):
                    raise
                wrong = f"raises {type(error).__name__}"
            if wrong:
                found[f"{case.name} {str(dtype).removeprefix('torch.')}"] = wrong
    return found


def _wrong(case: Any, dtype: Any) -> str:
    import torch

    given = case.inputs(dtype)
    wide = {name: one.detach().float().requires_grad_(one.requires_grad) for name, one in given.items()}
    # Tensors that a case holds beside its inputs go where those are.
    with torch.device("cpu"):
        expected = case.reference(**wide)
    own = {name: one.detach().npu().requires_grad_(one.requires_grad) for name, one in given.items()}
    actual = _on_npu(case.call, own)
    wrong = difference(
        _as_list(actual), [one.to(mine.dtype) for one, mine in zip(_as_list(expected), _as_list(actual), strict=False)]
    )
    if wrong or not case.gradient_of or dtype is not torch.float32:
        return wrong
    leaves = [name for name, one in own.items() if one.requires_grad]
    ours = _gradients(_as_list(actual), case.gradient_of, [own[name] for name in leaves])
    theirs = _gradients(_as_list(expected), case.gradient_of, [wide[name] for name in leaves])
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    wrong = difference([a for a, _ in pairs], [b for _, b in pairs])
    return f"gradient {wrong}" if wrong else ""


def _on_npu(call: Any, own: dict[str, Any]) -> Any:
    """Call it with the constants of the cases, which were made on the CPU, on the NPU."""
    import torch

    from npuify.selftest.inside import custom_cases

    kept = {name: one for name, one in vars(custom_cases).items() if isinstance(one, torch.Tensor)}
    for name, one in kept.items():
        setattr(custom_cases, name, one.npu().float() if one.dtype is torch.float64 else one.npu())
    try:
        with torch.device("npu"):
            return call(**own)
    finally:
        for name, one in kept.items():
            setattr(custom_cases, name, one)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _gradients(results: list[Any], through: tuple[int, ...], leaves: list[Any]) -> list[Any]:
    import torch

    chosen = [results[index] for index in through if results[index].requires_grad]
    if not chosen:
        return [None] * len(leaves)
    return list(torch.autograd.grad(chosen, leaves, [torch.ones_like(one) for one in chosen], allow_unused=True))
