"""Reads dumps of msprobe (mindstudio-probe) as captures.

The layout is that which msprobe 26.2 writes (levels L0, L1, mix; tasks statistics, tensor): ``stepN/rankM/dump.json``
with ``data`` by name, such as ``Module.layer.0.Linear.forward.0``; ``construct.json`` with the parent of each;
``dump_tensor_data`` with the values as .pt or .npy.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.verify.comparison.model import Call, Capture, Gradient, Module, Rank, Tensor, Value
from npuify.verify.comparison.sources.torch_files import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = "Model"
"""Stands for the model itself, which msprobe's names leave out."""
_CALL = re.compile(r"(?P<kind>\w+)\.(?P<name>.+?)\.(?P<what>forward|backward)(?:\.(?P<number>\d+))?$")
_GRADIENTS = re.compile(r"Module\.(?P<name>.+)\.parameters_grad(?:\.\d+)?$")


def find(folder: Path) -> list[Path]:
    """The dump.json files, one for each step and rank, below a folder."""
    return sorted(folder.rglob("dump.json"))


def read_dump(folder: Path, dumps: list[Path]) -> Capture:
    """The dumps of a run as one capture.

    Raises:
        NpuifyError: a file cannot be read, is none of msprobe's, or none holds a call.
    """
    ranks: dict[int, Rank] = {}
    steps = {path: _number(path, "step") for path in dumps}
    first = min(steps.values())
    clock = 0
    for path in sorted(dumps, key=lambda one: (steps[one], str(one))):
        number = _number(path, "rank")
        rank = ranks.setdefault(number, Rank(number, {"rank": number}))
        try:
            clock = _Dump(path, rank, steps[path] - first, clock).read()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NpuifyError(phrase("not an msprobe dump: {error}", error=error), file=str(path)) from error
    found = [ranks[number] for number in sorted(ranks) if ranks[number].calls]
    if not found:
        raise NpuifyError("nothing was captured: the dumps contain no call", file=str(folder))
    return Capture(
        source=str(folder),
        form="msprobe",
        run=str(folder.resolve()),
        settings={},
        arguments=(),
        ranks=found,
        notes=["an msprobe dump records neither its device, nor the loss and the optimizer's settings"],
    )


def _number(path: Path, word: str) -> int:
    for part in reversed(path.parts[:-1]):
        match = re.fullmatch(rf"{word}(\d+)", part)
        if match:
            return int(match[1])
    return 0


class _Dump:
    """One dump.json."""

    def __init__(self, path: Path, rank: Rank, step: int, clock: int) -> None:
        self._rank, self._step, self._clock = rank, step, clock
        whole = json.loads(path.read_text(encoding="utf-8"))
        self._data: dict[str, Any] = whole["data"]
        self._values = path.parent / "dump_tensor_data"
        construct = path.with_name("construct.json")
        parents = json.loads(construct.read_text(encoding="utf-8")) if construct.is_file() else {}
        # Newer releases write the parent together with its scope.
        self._parents = {name: one[0] if isinstance(one, list) and one else one for name, one in parents.items()}
        self._starts: dict[str, int] = {}

    def read(self) -> int:
        """Add all that it holds to the rank; gives the time at which it ends."""
        forwards = [name for name in self._data if _is(name, "forward")]
        children: dict[str | None, list[str]] = {}
        for name in forwards:
            parent = self._parents.get(name)
            children.setdefault(parent if parent in self._data else None, []).append(name)
        for name in children.get(None, []):
            self._call(name, 0, children)
        for name, entry in self._data.items():
            gradients = _GRADIENTS.match(name)
            if gradients:
                self._parameter_gradients(gradients["name"], entry)
            elif _is(name, "backward"):
                self._backward(name, entry)
        return self._clock

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def _call(self, key: str, within: int, children: dict[str | None, list[str]]) -> None:
        match = _CALL.match(key)
        assert match is not None
        start = self._starts[key] = self._tick()
        for child in children.get(key, []):
            self._call(child, start, children)
        entry = self._data[key]
        module = match["kind"] == "Module"
        name, kind = _module_name(match["name"]) if module else (f"{ROOT}/{match['kind']}.{match['name']}", "")
        inputs = [*_tensors(entry.get("input_args") or entry.get("input") or []), *_named(entry.get("input_kwargs"))]
        self._rank.calls.append(
            Call(
                name=name,
                step=self._step,
                phase="train",
                root=1,
                number=int(match["number"] or 0) + 1 if module else 1,
                start=start,
                end=self._tick(),
                within=within,
                inputs=tuple(self._tensor(slot, one) for slot, one in inputs),
                outputs=tuple(self._tensor(slot, one) for slot, one in _tensors(entry.get("output") or [])),
                training=bool(entry.get("is_training", True)),
                operator=not module,
            )
        )
        if module and name not in self._rank.modules:
            self._rank.modules[name] = Module(name, kind, "", {})
        for part, one in (entry.get("parameters") or {}).items():
            if isinstance(one, dict) and "dtype" in one:
                when, step = ("start", 0) if self._step == 0 else ("after", self._step - 1)
                tensor = self._tensor(part, one)
                self._rank.values.append(Value("parameter", when, f"{name}.{part}", step, start, 0, tensor))

    def _backward(self, key: str, entry: dict[str, Any]) -> None:
        start = self._starts.get(key.replace(".backward", ".forward"))
        if start is None:
            match = _CALL.match(key)
            start = self._starts.get(key[: match.start("what")] + "forward") if match is not None else None
        if start is None:
            return
        for side, word in (("output", "input"), ("input", "output")):
            for slot, one in _tensors(entry.get(word) or []):
                tensor = self._tensor(slot, one)
                self._rank.gradients.append(Gradient(self._step, self._tick(), ((start, f"{side}.{slot}"),), tensor))

    def _parameter_gradients(self, full: str, entry: dict[str, Any]) -> None:
        name, _ = _module_name(full)
        for part, rows in entry.items():
            one = rows[0] if isinstance(rows, list) and rows else rows
            if isinstance(one, dict) and "dtype" in one:
                tensor = self._tensor(part, one)
                value = Value("gradient", "backward", f"{name}.{part}", self._step, self._tick(), 0, tensor)
                self._rank.values.append(value)

    def _tensor(self, slot: str, one: dict[str, Any]) -> Tensor:
        shape = tuple(int(size) for size in one.get("shape") or ())
        high, low, mean, norm = (_finite(one.get(key)) for key in ("Max", "Min", "Mean", "Norm"))
        told = [one.get(key) for key in ("Max", "Min", "Mean", "Norm")]
        path = self._values / one["data_name"] if one.get("data_name") else None
        return Tensor(
            slot=slot,
            dtype=str(one["dtype"]).removeprefix("torch."),
            shape=shape,
            requires_grad=bool(one.get("requires_grad", False)),
            count=math.prod(shape),
            low=low,
            high=high,
            mean=mean,
            norm=norm,
            nan=int(any(isinstance(value, float) and math.isnan(value) for value in told)),
            inf=int(any(isinstance(value, float) and math.isinf(value) for value in told)),
            key=str(path) if path is not None else None,
            load=(lambda: load(path)) if path is not None else None,
        )


def _is(name: str, what: str) -> bool:
    match = _CALL.match(name)
    return match is not None and match["what"] == what


def _module_name(text: str) -> tuple[str, str]:
    """``layer.0.Linear`` → the module's name and its class."""
    name, _, kind = text.rpartition(".")
    return (f"{ROOT}.{name}" if name else ROOT), kind


def _tensors(values: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(values, dict):
        if "dtype" in values and "shape" in values:
            yield path or "0", values
        elif "type" not in values:
            yield from _named(values, path)
    elif isinstance(values, list):
        for index, one in enumerate(values):
            yield from _tensors(one, f"{path}.{index}".strip("."))


def _named(values: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for key, one in (values or {}).items():
        yield from _tensors(one, f"{path}.{key}".strip("."))


def _finite(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
