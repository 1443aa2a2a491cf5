"""Values of fake tensors, computed when the program asks for one: only what that value needs, from a log.

A fake tensor has no numbers. Where a program reads one (``loss.item()``, ``if mask.any()``, ``x.nonzero()``), the
operators that lead to it are run again on real memory. Where that would cost more than a limit, a value is assumed,
and said to be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def reason_of(error: BaseException) -> str:
    """Why a value could not be computed, in one short line."""
    text = " ".join(str(error).split())
    text = text if len(text) <= 120 else f"{text[:119]}…"
    return (
        text
        if isinstance(error, TooCostly)
        else phrase("computing it raised {name}: {text}", name=type(error).__name__, text=text)
    )


class TooCostly(Exception):
    """The value would cost more than the limit, or cannot be traced back."""


@dataclass(frozen=True)
class Ref:
    """Stands for a fake tensor in the log."""

    number: int


@dataclass
class Entry:
    """One operator that ran on fake tensors."""

    function: Any
    args: Any
    kwargs: dict[str, Any]
    results: Any
    reads: frozenset[int]
    """Storages of its inputs."""
    writes: frozenset[int]
    """Storages that it makes or changes."""
    size: int
    """Bytes of its results that are new memory."""
    seed: int
    """What the generator is set to for it, so that it draws the same numbers whenever it is run."""


@dataclass
class Log:
    """All operators on fake tensors so far.

    Args:
        limit: bytes of results that computing one value may make.
        seconds: time that computing values may take in all.
    """

    limit: int
    seconds: float
    entries: list[Entry] = field(default_factory=list)
    known: dict[int, torch.Tensor] = field(default_factory=dict)
    """Values of tensors that did not come from an operator on fake tensors."""
    spent: float = 0.0
    """Seconds that computing values has taken."""
    _next: int = 0

    def number(self, tensor: FakeTensor, storage: int | None = None) -> Ref:
        """The tensor's name in the log, given to it here if it has none.

        Args:
            storage: the log's name of the storage that it lies in, where that is known.
        """
        found: Ref | None = tensor.__dict__.get("_npuify_ref")
        if found is None:
            self._next += 1
            found = tensor.__dict__["_npuify_ref"] = Ref(self._next)
            tensor.__dict__["_npuify_storage"] = self._next if storage is None else storage
        return found

    def learn(self, tensor: FakeTensor, value: torch.Tensor) -> None:
        """Note what a fake tensor's numbers are."""
        self.known[self.number(tensor).number] = value

    def adopt(self, tensor: FakeTensor, source: FakeTensor) -> None:
        """From now on ``tensor`` is what ``source`` is."""
        self.number(source)
        for name in ("_npuify_ref", "_npuify_storage"):
            tensor.__dict__[name] = source.__dict__[name]

    def add(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Note an operator that ran, with what it was given and gave."""
        inputs = [tensor for tensor in tensors_of((args, kwargs)) if isinstance(tensor, FakeTensor)]
        places: dict[int, int] = {}
        reads = set()
        for tensor in inputs:
            self.number(tensor)
            storage = tensor.__dict__["_npuify_storage"]
            reads.add(storage)
            places[tensor.untyped_storage()._cdata] = storage
        writes = set()
        size = 0
        for tensor in tensors_of(result):
            if isinstance(tensor, FakeTensor):
                own = places.get(tensor.untyped_storage()._cdata)
                if own is None:
                    size += tensor.numel() * tensor.element_size()
                    self.number(tensor)
                    writes.add(tensor.__dict__["_npuify_storage"])
                else:
                    self.number(tensor, own)
        if function._schema.is_mutable:
            for tensor in written(function, args, kwargs):
                if isinstance(tensor, FakeTensor):
                    writes.add(tensor.__dict__["_npuify_storage"])
        self.entries.append(
            Entry(
                function,
                mapped(args, self._ref),
                mapped(kwargs, self._ref),
                mapped(result, self._ref),
                frozenset(reads),
                frozenset(writes),
                size,
                torch.random.initial_seed() + len(self.entries),
            )
        )

    def _ref(self, tensor: torch.Tensor) -> Any:
        return self.number(tensor) if isinstance(tensor, FakeTensor) else tensor

    def origin(self, tensor: torch.Tensor) -> str:
        """The name of the operator that last made or changed a tensor's memory; empty where that is not known."""
        storage = tensor.__dict__.get("_npuify_storage")
        for entry in reversed(self.entries):
            if storage in entry.writes:
                return str(entry.function._schema.name)
        return ""

    def value(self, tensor: FakeTensor) -> torch.Tensor:
        """The numbers of a fake tensor, on the CPU.

        Raises:
            TooCostly: more memory than the limit would have to be filled, or its origin is not known.
        """
        ref = tensor.__dict__.get("_npuify_ref")
        if ref is None:
            raise TooCostly("it was not made under the trace")
        if self.spent > self.seconds:
            raise TooCostly(phrase("computing values has taken {seconds:g} s already", seconds=self.seconds))
        started = time.perf_counter()
        try:
            return self._computed(tensor, ref)
        finally:
            self.spent += time.perf_counter() - started

    def _computed(self, tensor: FakeTensor, ref: Ref) -> torch.Tensor:
        needed = {tensor.__dict__["_npuify_storage"]}
        chosen: list[Entry] = []
        size = 0
        for entry in reversed(self.entries):
            # An entry without new or changed memory gives views, which cost nothing.
            if entry.writes & needed or (not entry.writes and entry.reads & needed):
                chosen.append(entry)
                needed |= entry.reads
                size += entry.size
                if size > self.limit:
                    raise TooCostly(phrase("it would take more than {value} MiB", value=self.limit >> 20))
        return self._run(reversed(chosen), ref)

    def _run(self, chosen: Iterable[Entry], wanted: Ref) -> torch.Tensor:
        values: dict[int, torch.Tensor] = {}

        def real(item: Any) -> Any:
            if isinstance(item, Ref):
                if item.number not in values:
                    known = self.known.get(item.number)
                    if known is None:
                        raise TooCostly("a part of it was not made under the trace")
                    values[item.number] = known.detach().clone()
                return values[item.number]
            if isinstance(item, torch.Tensor):
                return item.detach().cpu() if item.device.type != "cpu" else item.detach()
            return item

        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            for entry in chosen:
                if torch.Tag.nondeterministic_seeded in entry.function.tags:
                    torch.random.default_generator.manual_seed(entry.seed)
                result = run_real(entry.function, mapped(entry.args, real, Ref), mapped(entry.kwargs, real, Ref))
                _bind(entry.results, result, values)
            return real(wanted)


def _bind(names: Any, results: Any, values: dict[int, torch.Tensor]) -> None:
    if isinstance(names, Ref):
        values[names.number] = results
    elif isinstance(names, (list, tuple)):
        for name, result in zip(names, results, strict=False):
            _bind(name, result, values)


def run_real(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operator on the CPU, wherever it was meant to run; on the simulated device where the CPU has no kernel."""
    placed = {name: _on_cpu(value) for name, value in kwargs.items() if name != "pin_memory"}
    placed = {name: value for name, value in placed.items() if not isinstance(value, torch.Generator)}
    given = [_on_cpu(value) for value in args]
    try:
        return function(*given, **placed)
    except NotImplementedError:
        device = torch._C._get_privateuse1_backend_name()
        if function._schema.is_mutable or getattr(torch, device, None) is None:
            raise
        found = function(
            *mapped(given, lambda tensor: tensor.to(device)), **mapped(placed, lambda tensor: tensor.to(device))
        )
        return mapped(found, lambda tensor: tensor.cpu())


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)


def mapped(value: Any, change: Callable[[Any], Any], also: type | None = None) -> Any:
    """``value`` with each tensor in it (and each ``also``) replaced by what ``change`` gives for it."""
    if isinstance(value, torch.Tensor) or (also is not None and isinstance(value, also)):
        return change(value)
    if isinstance(value, (list, tuple)):
        items = [mapped(item, change, also) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: mapped(item, change, also) for key, item in value.items()}
    return value


def written(function: Any, args: Any, kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors that an operator changes, by its schema."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = kwargs.get(argument.name, args[index] if index < len(args) else None)
            yield from tensors_of(value)
