"""torch_npu's own operators against the same mathematics in PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk, is_stand_in, kernels_missing
from npuify.selftest.inside.samples.custom_samples import Sample, sample_of


def disagreements(operator: str) -> dict[str, str]:
    """Case and type → what is wrong with results or gradients; what agrees is left out."""
    import torch

    from npuify.selftest.inside.samples.custom_cases import CASES

    cases = [case for case in CASES if case.name.partition(" ")[0].rstrip(",") == operator]
    found: dict[str, str] = {}
    if not cases:
        return _of_sample(operator)
    types = [torch.float32, torch.float16, *([torch.bfloat16] if torch.npu.is_bf16_supported() else [])]
    why = ""
    for case in cases:
        for dtype in types if case.low_precision else types[:1]:
            try:
                wrong = _wrong(case, dtype)
            except CannotAsk as cannot:
                why = str(cannot)
                continue
            except Exception as error:
                if kernels_missing(error):
                    raise CannotAsk("there is no kernel here") from None
                if isinstance(error, NotImplementedError):
                    raise
                wrong = f"raises {type(error).__name__}"
            if wrong:
                found[f"{case.name} {str(dtype).removeprefix('torch.')}"] = wrong
    if why and not found:
        raise CannotAsk(why)
    return found


def _of_sample(operator: str) -> dict[str, str]:
    import torch

    sample = sample_of(operator)
    if sample is None:
        raise CannotAsk("there are no sample arguments")
    packet = getattr(torch.ops.npu, operator)
    call = getattr(packet, "default", None) or getattr(packet, packet.overloads()[0])
    try:
        expected = _as_list(_reference(operator, call._schema, copy.deepcopy(sample)))
        actual = _as_list(call(*_moved(sample.arguments), **_moved(sample.named)))
    except Exception as error:
        if kernels_missing(error):
            raise CannotAsk("there is no kernel here") from None
        if isinstance(error, NotImplementedError):
            raise
        return {operator: f"raises {type(error).__name__}"}
    places = range(len(expected)) if sample.outputs is None else sample.outputs
    if len(actual) != len(expected):
        return {operator: f"{len(actual)} results for {len(expected)}"}
    wrong: dict[str, str] = {}
    why = ""
    for place in places:
        try:
            wrong[f"{operator} output {place}"] = _apart(actual[place], expected[place], sample.whole)
        except CannotAsk as cannot:
            why = str(cannot)
    found = {name: one for name, one in wrong.items() if one}
    if why and not found:
        raise CannotAsk(why)
    return found


def _reference(operator: str, schema: Any, sample: Sample) -> Any:
    """What the simulator's function computes on the CPU."""
    import torch

    from npuify.simulator.operators.install import load_table

    table = load_table()
    row = table.get(operator) or table[operator.removesuffix("_")]
    names = [argument.name for argument in schema.arguments]
    given = {**dict(zip(names, sample.arguments, strict=False)), **sample.named}
    with torch.no_grad():
        return row.function(**{name: value for name, value in row.named(given).items() if row.takes(name)})


def _moved(value: Any) -> Any:
    import torch
    from torch.utils._pytree import tree_map

    return tree_map(lambda one: one.npu() if isinstance(one, torch.Tensor) else one, value)


def _apart(actual: Any, expected: Any, whole: int) -> str:
    import torch

    if whole and isinstance(expected, torch.Tensor) and not expected.is_floating_point() and not is_stand_in():
        gap = (actual.cpu().long() - expected.long()).abs().max().item()
        return "" if gap <= whole else f"differs by {gap}"
    if isinstance(expected, torch.Tensor):
        kind = "" if actual.dtype == expected.dtype else f"{actual.dtype} for {expected.dtype}"
        return kind or difference(actual, expected)
    return difference(actual, expected) if isinstance(expected, (list, tuple)) else ""


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

    from npuify.selftest.inside.samples.custom_cases import MODULES

    kept = [
        (module, name, one) for module in MODULES for name, one in vars(module).items() if isinstance(one, torch.Tensor)
    ]
    for module, name, one in kept:
        setattr(module, name, one.npu().float() if one.dtype is torch.float64 else one.npu())
    try:
        with torch.device("npu"):
            return call(**own)
    finally:
        for module, name, one in kept:
            setattr(module, name, one)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _gradients(results: list[Any], through: tuple[int, ...], leaves: list[Any]) -> list[Any]:
    import torch

    chosen = [results[index] for index in through if results[index].requires_grad]
    if not chosen:
        return [None] * len(leaves)
    return list(torch.autograd.grad(chosen, leaves, [torch.ones_like(one) for one in chosen], allow_unused=True))
