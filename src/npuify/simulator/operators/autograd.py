"""Gradients of simulated operators: what flows, and by which operator."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .table import Operator

_AUTOGRAD = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradFunctionality)


@contextmanager
def recording() -> Iterator[None]:
    """Record operations for a gradient also inside a kernel, where autograd is switched off."""
    include = torch._C._dispatch_tls_local_include_set()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    with torch._C._ForceDispatchKeyGuard(include, exclude - _AUTOGRAD), torch.enable_grad():
        yield


def vector_jacobian(
    function: Callable[..., Any], inputs: Sequence[Any], gradients: Sequence[Any]
) -> tuple[torch.Tensor | None, ...]:
    """Gradients of ``function`` with regard to ``inputs``, by computing it again.

    Args:
        inputs: what ``function`` takes. A gradient is given for each floating-point tensor, None for all else.
        gradients: one for each output; outputs whose gradient is None do not count.
    """
    with recording():
        leaves = [_leaf(value) for value in inputs]
        outputs = function(*leaves)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        used = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=False)
            if gradient is not None and isinstance(output, torch.Tensor) and output.requires_grad
        ]
        wanted = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        if not used or not wanted:
            found: Sequence[torch.Tensor | None] = [None] * len(wanted)
        else:
            found = torch.autograd.grad(
                [output for output, _ in used],
                wanted,
                [gradient.to(output.dtype) for output, gradient in used],
                allow_unused=True,
            )
    results = iter(found)
    filled: list[torch.Tensor | None] = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            gradient = next(results)
            filled.append(torch.zeros_like(leaf, requires_grad=False) if gradient is None else gradient.detach())
        else:
            filled.append(None)
    return tuple(filled)


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().requires_grad_(True)
    return value


class _Simulated(torch.autograd.Function):
    """Forward by the operator's kernel, below autograd; backward by the row's formula."""

    @staticmethod
    def forward(
        context: Any, row: Operator, kernel: Callable[..., Any], arguments: dict[str, Any], spread: Any, *tensors: Any
    ) -> Any:
        results = kernel(arguments)
        outputs = results if isinstance(results, tuple) else (results,)
        context.row = row
        context.names = spread
        context.arguments = {name: value for name, value in arguments.items() if not _has_tensor(value)}
        context.layout = {}
        saved: list[torch.Tensor] = []
        for name, value in arguments.items():
            if _has_tensor(value):
                context.layout[name] = _store(value, saved)
        context.results = [_store(value, saved) for value in outputs]
        context.save_for_backward(*saved)
        context.set_materialize_grads(False)
        dead = [
            value
            for index, value in enumerate(outputs)
            if isinstance(value, torch.Tensor)
            and (index not in row.outputs or not (value.is_floating_point() or value.is_complex()))
        ]
        context.mark_non_differentiable(*dead)
        return results

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        row: Operator = context.row
        saved = context.saved_tensors
        arguments = dict(context.arguments)
        for name, stored in context.layout.items():
            arguments[name] = _load(stored, saved)
        outputs = tuple(_load(stored, saved) for stored in context.results)
        with torch.no_grad():
            if row.formula is not None:
                found = row.formula(SimpleNamespace(**arguments), outputs, gradients)
            else:
                found = _differentiate(row, arguments, gradients)
        by_name = dict(zip(row.gradients, found, strict=True))
        flat: list[Any] = []
        for name, count in context.names:
            gradient = by_name[name]
            flat.extend([gradient] if count is None else list(gradient))
        return (None, None, None, None, *flat)


def _differentiate(row: Operator, arguments: dict[str, Any], gradients: Sequence[Any]) -> tuple[Any, ...]:
    names = [name for name in row.gradients if arguments.get(name) is not None]
    flat: list[Any] = []
    counts: list[int | None] = []
    for name in names:
        value = arguments[name]
        counts.append(len(value) if isinstance(value, (list, tuple)) else None)
        flat.extend(value if isinstance(value, (list, tuple)) else [value])

    def again(*values: Any) -> Any:
        rest = list(values)
        given = {name: value for name, value in arguments.items() if row.takes(name)}
        for name, count in zip(names, counts, strict=True):
            given[name] = rest.pop(0) if count is None else [rest.pop(0) for _ in range(count)]
        return row.function(**given)

    found = list(vector_jacobian(again, flat, gradients))
    by_name: dict[str, Any] = {}
    for name, count in zip(names, counts, strict=True):
        by_name[name] = found.pop(0) if count is None else [found.pop(0) for _ in range(count)]
    return tuple(by_name.get(name) for name in row.gradients)


def apply(row: Operator, kernel: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Run ``kernel`` on ``arguments`` so that a later backward reaches the inputs that the row names."""
    spread: list[tuple[str, int | None]] = []
    tensors: list[Any] = []
    for name in row.gradients:
        value = arguments.get(name)
        if isinstance(value, (list, tuple)):
            spread.append((name, len(value)))
            tensors.extend(value)
        else:
            spread.append((name, None))
            tensors.append(value)
    return _Simulated.apply(row, kernel, arguments, spread, *tensors)


def wants_gradient(row: Operator, arguments: dict[str, Any]) -> bool:
    """Whether a gradient may be asked of this call."""
    if not row.gradients or not torch.is_grad_enabled():
        return False
    for name in row.gradients:
        value = arguments.get(name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, torch.Tensor) and item.requires_grad:
                return True
    return False


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, torch.Tensor) for item in value)
    return isinstance(value, torch.Tensor)


def _store(value: Any, saved: list[torch.Tensor]) -> Any:
    """Where ``value`` stands among the saved tensors; values without tensors are kept as they are."""
    if isinstance(value, torch.Tensor):
        saved.append(value)
        return ("one", len(saved) - 1)
    if isinstance(value, (list, tuple)) and _has_tensor(value):
        places = []
        for item in value:
            saved.append(item)
            places.append(len(saved) - 1)
        return ("many", places)
    return ("value", value)


def _load(stored: Any, saved: Sequence[torch.Tensor]) -> Any:
    kind, what = stored
    if kind == "one":
        return saved[what]
    if kind == "many":
        return [saved[place] for place in what]
    return what
