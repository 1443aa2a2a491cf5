"""Writes knowledge/data/functions.json: which ATen operators PyTorch's functions and layers lead to on an NPU.

    npuify simulate --policy off --cpu-random tools/function_operators.py [--only NAME]

PyTorch's own databases of functions and layers are called with simulated NPU tensors, and what reaches the device is
written down: operators that every sample of a function needs (``always``), those that only some need
(``sometimes``), and the operator of the function itself (``itself``), whose kernel, where a release has one, makes the others needless.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OUTPUT = Path(__file__).resolve().parent.parent / "src/npuify/knowledge/data/functions.json"
_SAMPLES = 12
_TYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
_MOVES = frozenset(
    ("_to_copy", "copy_", "_copy_from", "detach", "empty", "empty_strided", "_local_scalar_dense", "lift_fresh", "item")
)


class _Reached(TorchDispatchMode):
    """Collects the operators that reach the device."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: dict[str, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.removesuffix(".default")
        if func.namespace == "aten" and name.partition(".")[0] not in _MOVES:
            self.operators[name] = None
        return func(*args, **(kwargs or {}))


def _moved(value: Any) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.detach().to("npu")
        return torch.device("npu") if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu") else x

    return tree_map(one, value)


def _reached(calls: Iterator[Callable[[], Any]]) -> tuple[list[str], list[str]] | None:
    """What every call reaches, and what only some do; None where none could be made."""
    found: list[dict[str, None]] = []
    for call in calls:
        mode = _Reached()
        try:
            with mode:
                call()
        except Exception:  # a sample that the simulated device cannot do tells nothing
            continue
        found.append(mode.operators)
    if not found:
        return None
    always = [name for name in found[0] if all(name in other for other in found)]
    return always, sorted({name for other in found for name in other} - set(always))


def _of_function(op: Any) -> tuple[list[str], list[str]] | None:
    def calls() -> Iterator[Callable[[], Any]]:
        dtype = next((t for t in _TYPES if t in op.dtypes), None)
        if dtype is None:
            return
        for index, sample in enumerate(op.sample_inputs("cpu", dtype)):
            if index >= _SAMPLES:
                return
            if not isinstance(sample.input, torch.Tensor) or sample.input.numel() or index == 0:
                first, args, kwargs = _moved((sample.input, sample.args, sample.kwargs))
                yield lambda first=first, args=args, kwargs=kwargs: op(first, *args, **kwargs)

    return _reached(calls())


def _of_layer(info: Any) -> tuple[list[str], list[str]] | None:
    def calls() -> Iterator[Callable[[], Any]]:
        made = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
        for sample in made[:_SAMPLES]:
            given = sample.constructor_input
            layer = info.module_cls(*given.args, **given.kwargs).to("npu")
            if sample.forward_input is not None:
                args, kwargs = _moved((sample.forward_input.args, sample.forward_input.kwargs))
                yield lambda layer=layer, args=args, kwargs=kwargs: layer(*args, **kwargs)

    return _reached(calls())


def _names(op: Any) -> list[str]:
    names = [f"torch.{op.name}", *(f"torch.{alias.name}" for alias in op.aliases)]
    methods = [op.method_variant, op.inplace_variant, *(alias.method_variant for alias in op.aliases)]
    return [*names, *(f"torch.Tensor.{method.__name__}" for method in methods if hasattr(method, "__name__"))]


def _layer_name(cls: type) -> str:
    public = f"torch.nn.{cls.__name__}"
    return public if hasattr(torch.nn, cls.__name__) else f"{cls.__module__}.{cls.__name__}"


def _exists(name: str) -> bool:
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


def collect(only: str) -> dict[str, dict[str, object]]:
    """All functions, methods and layers by their public names."""
    found: dict[str, dict[str, object]] = {}
    merged: dict[str, list[tuple[list[str], list[str]]]] = {}
    itself: dict[str, str] = {}
    for op in op_db:
        if only and only not in op.name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reached = _of_function(op)
        for name in _names(op):
            if reached is not None and _exists(name):
                merged.setdefault(name, []).append(reached)
                itself[name] = op.aten_name
    for info in module_db:
        name = _layer_name(info.module_cls)
        if only and only not in name:
            continue
        reached = _of_layer(info)
        if reached is not None:
            merged.setdefault(name, []).append(reached)
    for name, variants in sorted(merged.items()):
        always = [o for o in variants[0][0] if all(o in a for a, _ in variants)]
        others = sorted({o for a, s in variants for o in (*a, *s)} - set(always))
        found[name] = {"always": always, "sometimes": others, "itself": itself.get(name, "")}
    return found


def main() -> int:
    """Call everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names that hold this")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args()
    rows = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in collect(given.only).items()]
    given.output.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
