"""Modules in the place of CUDA kernels and packages: the NPU's results against the CPU's."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from npuify.helpers import kernel_module
from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk, is_stand_in, kernels_missing
from npuify.selftest.inside.samples.kernel_samples import SAMPLES

_STEPS = 3


def used(what: Any) -> Any:
    """A function of a sample: a class is made and called, an optimizer takes some steps."""
    import torch

    if not isinstance(what, type):
        return what
    if not issubclass(what, torch.optim.Optimizer):
        return lambda made_with, *given: _layer(what, made_with).to(given[0].device)(*given)

    def steps(weight: Any, gradient: Any) -> Any:
        weight = torch.nn.Parameter(weight)
        weight.grad = gradient
        optimizer: Any = what([weight], 0.01, **({"momentum": 0.9} if issubclass(what, torch.optim.SGD) else {}))
        for _ in range(_STEPS):
            optimizer.step()
        return weight

    return steps


def _layer(what: Any, made_with: Any) -> Any:
    """A layer with the same weights each time it is made."""
    import torch

    torch.manual_seed(0)
    return what(*made_with)


def disagreement(name: str) -> str:
    """What is wrong with the results of a function, and with what it writes into its arguments.

    Args:
        name: as in :data:`SAMPLES`.
    """
    import torch
    from torch.utils._pytree import tree_map

    module, _, function = name.partition(":")
    kind, _, family = module.partition(".")
    place = kernel_module(family) if kind == "replacements" else module
    call = used(getattr(importlib.import_module(f"npuify.helpers.{place}"), function))
    given = SAMPLES[name]()
    there: Any = tree_map(lambda one: one.npu() if isinstance(one, torch.Tensor) else one, given)
    with torch.no_grad():
        expected = call(*(mine := copy.deepcopy(given)))
        try:
            actual = call(*there)
        except Exception as error:
            # What is read from the stand-ins' memory may be any number, and stop a function that makes a shape of it.
            if kernels_missing(error) or is_stand_in():
                raise CannotAsk("there is no kernel here") from None
            return f"raises {type(error).__name__}"
    found = difference((actual, there), (expected, mine))
    if found and is_stand_in():
        # Shapes that depend on numbers are those of whatever the stand-ins' memory holds.
        raise CannotAsk("there is no kernel here")
    return found
