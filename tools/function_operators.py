"""Writes knowledge/data/functions.json: which ATen operators PyTorch's functions and layers lead to on an NPU.

    npuify simulate --policy off --cpu-random tools/function_operators.py [--only NAME]

PyTorch's own databases of functions and layers are called with simulated NPU tensors, and what reaches the device is
written down: the operators of each call (``calls``) as far as some shipped release lacks their kernel, the operator of
the function itself (``itself``), whose kernel, where a release has one, makes the others needless, and whether some
release lacks a kernel in every call (``lacked``).
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


def _reached(calls: Iterator[Callable[[], Any]]) -> list[tuple[str, ...]]:
    """What each call reaches, each set once; empty where none could be made."""
    found: dict[tuple[str, ...], None] = {}
    for call in calls:
        mode = _Reached()
        try:
            with mode:
                call()
        except Exception:  # a sample that the simulated device cannot do tells nothing
            continue
        found[tuple(mode.operators)] = None
    return list(found)


def _of_function(op: Any) -> list[tuple[str, ...]]:
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


def _of_layer(info: Any) -> list[tuple[str, ...]]:
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
    names = [f"torch.{name.removeprefix('torch.')}" for name in (op.name, *(alias.name for alias in op.aliases))]
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
    reached: dict[str, dict[tuple[str, ...], None]] = {}
    itself: dict[str, str] = {}
    for op in op_db:
        if only and only not in op.name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = _of_function(op)
        for name in _names(op):
            if sets and _exists(name):
                reached.setdefault(name, {}).update(dict.fromkeys(sets))
                itself[name] = op.aten_name
    for info in module_db:
        name = _layer_name(info.module_cls)
        sets = [] if only and only not in name else _of_layer(info)
        if sets:
            reached.setdefault(name, {}).update(dict.fromkeys(sets))
    lacked = lacked_by_some_release()
    for name, variants in sorted(reached.items()):
        kept = sorted({tuple(o for o in operators if o.partition(".")[0] in lacked) for operators in variants})
        found[name] = {
            "itself": itself.get(name, ""),
            "calls": kept,
            "lacked": _is_lacked(name, itself.get(name, ""), kept),
        }
    return found


def _is_lacked(name: str, itself: str, calls: list[tuple[str, ...]]) -> bool:
    from npuify.knowledge import load, releases
    from npuify.knowledge.pytorch.functions import Function, lack_in

    known = Function(itself, tuple(calls))
    lacks = [lack_in(known, name, load(info.torch_npu)) for info in releases() if info.has_table]
    return any(lack is not None and lack.always for lack in lacks)


def lacked_by_some_release() -> set[str]:
    """Operators for which some shipped release has no kernel, in one of their overloads; the others are left out."""
    from npuify.knowledge import load, releases
    from npuify.knowledge.pytorch.functions import LEADS_TO

    found = set(LEADS_TO)
    tables = [load(info.torch_npu) for info in releases() if info.has_table]
    for table in tables:
        found |= {name for name, how in table.operator_support.items() if "fallback" in how.values()}
    everywhere = set.intersection(*(set(table.operators) for table in tables))
    return found | ({name for table in tables for name in table.operators} - everywhere)


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
