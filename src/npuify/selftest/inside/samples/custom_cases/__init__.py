"""Operators with arguments and, for each, the same mathematics in PyTorch's own operators, written apart.

A case gives tensors (those with ``grad`` are differentiated) and two functions of them: the call under test, and the
reference. Both give a tensor or a tuple of tensors.
"""

from npuify.selftest.inside.samples.custom_cases import (
    activations,
    attention,
    boxes,
    layout,
    losses,
    normalization,
    products,
)

MODULES = (activations, normalization, attention, layout, products, losses, boxes)
CASES = [case for module in MODULES for case in module.CASES]
