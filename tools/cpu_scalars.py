"""Asks the real torch_npu which arguments of operators may be a CPU tensor without dimensions beside NPU tensors.

    python -m tools.real_torch_npu --torch-npu 2.13.0 run tools/cpu_scalars.py FILE

The simulator's file is src/npuify/simulator/data/cpu_scalars.json. For each sample of PyTorch's operator database, each
tensor argument in turn becomes a tensor without dimensions. Where the CPU takes that, and the NPU takes it on the NPU,
it is given on the CPU, while the others stay on the NPU: the operator takes it for a number, or refuses it. There are
no kernels behind the package; what decides comes before them.
"""

from __future__ import annotations

import json
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch_npu
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

# The database's module wants it for a class that is not used here; the real package's environment does not have it.
expecttest = types.ModuleType("expecttest")
expecttest.TestCase = unittest.TestCase  # type: ignore[attr-defined]
sys.modules.setdefault("expecttest", expecttest)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

HANGS = {"index_fill"}
"""Operators that wait for ever for a value of the device, where there are no kernels."""
SAMPLES = 12
"""Samples of each operator that are looked at."""


class Calls(TorchDispatchMode):
    """Notes which operators are called with the tensor that is looked for, by the names of their arguments."""

    def __init__(self, wanted: torch.Tensor) -> None:
        super().__init__()
        self.wanted = wanted
        self.found: list[tuple[str, str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note a call, and let it run."""
        if sum("Tensor" in str(a.type) for a in func._schema.arguments) < 2:
            return func(*args, **(kwargs or {}))
        named = [(a.name, value) for a, value in zip(func._schema.arguments, args, strict=False)]
        for name, value in (*named, *(kwargs or {}).items()):
            if value is self.wanted:
                self.found.append(
                    (func._schema.name + (f".{func._schema.overload_name}" if func._schema.overload_name else ""), name)
                )
        return func(*args, **(kwargs or {}))


def placed(leaves: list[Any], spec: Any, position: int, number: torch.Tensor, device: str) -> Any:
    """The arguments of a sample with the tensor at ``position`` replaced, the others on ``device``."""
    moved = [one.detach().to(device) if isinstance(one, torch.Tensor) else one for one in leaves]
    moved[position] = number
    return tree_unflatten(moved, spec)


def asked(op: Any, dtype: torch.dtype) -> Iterator[tuple[str, str, bool, str]]:
    """For each argument that can be asked: the dispatcher's names, whether it takes the CPU's number, and the error."""
    for count, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        if count >= SAMPLES:
            return
        leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        tensors = [i for i, one in enumerate(leaves) if isinstance(one, torch.Tensor)]
        if len(tensors) < 2 or any(one is not None and isinstance(one, (str, torch.device)) for one in leaves):
            continue
        for position in tensors:
            number = torch.ones((), dtype=leaves[position].dtype)
            given, args, kwargs = placed(leaves, spec, position, number, "cpu")
            calls = Calls(number)
            try:
                with calls:
                    op(given, *args, **kwargs)
                given, args, kwargs = placed(leaves, spec, position, number.npu(), "npu")
                op(given, *args, **kwargs)
            except Exception:
                continue
            if len(set(calls.found)) != 1:
                continue
            given, args, kwargs = placed(leaves, spec, position, number, "npu")
            if not any(
                isinstance(one, torch.Tensor) and one.device.type == "npu" and one.numel()
                for one in tree_flatten((given, args, kwargs))[0]
            ):
                continue
            error = ""
            try:
                op(given, *args, **kwargs)
            except Exception as refused:
                error = " ".join(str(refused).split("\n")[0].split())[:160]
            yield *calls.found[0], not error, error


def main() -> None:
    """Ask, print and write."""
    warnings.simplefilter("ignore")
    refused: dict[str, set[str]] = {}
    taken: dict[str, set[str]] = {}
    errors: dict[tuple[str, str], str] = {}
    for op in op_db:
        if op.name in HANGS:
            continue
        print(op.name, flush=True, file=sys.stderr)
        for dtype in (torch.float32, torch.int32, torch.bool):
            if not op.supports_dtype(dtype, "cpu"):
                continue
            try:
                for name, argument, takes, error in asked(op, dtype):
                    (taken if takes else refused).setdefault(name, set()).add(argument)
                    errors.setdefault((name, argument), error) if error else None
            except Exception as unasked:
                print(f"not asked: {op.name} {dtype}: {unasked!r}"[:200], file=sys.stderr)
    rows = {name: sorted(arguments - taken.get(name, set())) for name, arguments in sorted(refused.items())}
    rows = {name: arguments for name, arguments in rows.items() if arguments}
    for name, arguments in rows.items():
        print(name, *arguments, "|", errors[name, arguments[0]])
    print(len(rows), "operators refuse,", len(taken), "take")
    if len(sys.argv) > 1:
        version = torch_npu.__version__.partition("+")[0]
        about = (
            "Arguments of operators that may be no CPU tensor without dimensions beside NPU tensors, and those that "
            f"may: asked of torch_npu {version} by tools/cpu_scalars.py."
        )
        both = {"_about": about, "refused": rows, "taken": {name: sorted(taken[name]) for name in sorted(taken)}}
        text = json.dumps(both, indent=1)
        Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
