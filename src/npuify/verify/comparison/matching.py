"""Which call, gradient and parameter of B belongs to which of A."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import Call, Gradient, Rank, Tensor, Value

_PART = re.compile(r"(?:^|(?<=\.))(?:module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")


@dataclass
class Pairs:
    """What of two processes belongs together."""

    calls: list[tuple[Call, Call]] = field(default_factory=list)
    """In the order in which A made them."""
    only_a: list[Call] = field(default_factory=list)
    only_b: list[Call] = field(default_factory=list)
    gradients: list[tuple[Gradient, Gradient]] = field(default_factory=list)
    """In the order in which A got them."""
    values: dict[tuple[Any, ...], tuple[Value, Value]] = field(default_factory=dict)
    values_only_a: list[Value] = field(default_factory=list)
    values_only_b: list[Value] = field(default_factory=list)
    roots: dict[str, str] = field(default_factory=dict)
    """Name of a model in B → its name in A."""


def plain(name: str) -> str:
    """A name without what wrappers put into it."""
    root, dot, rest = name.partition(".")
    return root + dot + _PART.sub("", rest)


def pair(a: Rank, b: Rank) -> Pairs:
    """Match two processes: by name, by step, and by the number of the call."""
    found = Pairs(roots=_roots(a, b))

    def renamed(name: str) -> str:
        name = plain(name)
        root = re.split(r"[./]", name, maxsplit=1)[0]
        return found.roots.get(root, root) + name[len(root) :]

    # A part that is called by itself and within its model has the same numbers twice: the first belongs to the first.
    theirs: dict[tuple[Any, ...], deque[Call]] = {}
    for call in sorted(b.calls, key=lambda one: one.start):
        key = (call.step, call.phase, call.root, renamed(call.name), call.number)
        theirs.setdefault(key, deque()).append(call)
    starts: dict[int, int] = {}
    for call in sorted(a.calls, key=lambda one: one.start):
        key = (call.step, call.phase, call.root, plain(call.name), call.number)
        if not theirs.get(key):
            found.only_a.append(call)
            continue
        other = theirs[key].popleft()
        found.calls.append((call, other))
        starts[other.start] = call.start
    found.only_b = [call for others in theirs.values() for call in others]
    _gradients(a, b, starts, found)
    _values(a, b, renamed, found)
    return found


def _roots(a: Rank, b: Rank) -> dict[str, str]:
    """Models of the same name are the same; the others go together in the order in which they were called."""

    def names(rank: Rank) -> list[str]:
        outer = [plain(call.name) for call in rank.calls if not call.within and not call.operator]
        return list(dict.fromkeys(re.split(r"[./]", name, maxsplit=1)[0] for name in outer))

    ours, theirs = names(a), names(b)
    same = set(ours) & set(theirs)
    rest_a, rest_b = ([name for name in found if name not in same] for found in (ours, theirs))
    return {**{name: name for name in same}, **dict(zip(rest_b, rest_a, strict=False))}


def _gradients(a: Rank, b: Rank, starts: dict[int, int], found: Pairs) -> None:
    """Where a program differentiates twice, a tensor gets several gradients: the first belongs to the first."""
    theirs: dict[tuple[int, str], list[Gradient]] = {}
    for gradient in sorted(b.gradients, key=lambda one: one.at):
        for start, slot in gradient.targets:
            if start in starts:
                theirs.setdefault((starts[start], slot), []).append(gradient)
    seen: Counter[tuple[int, str]] = Counter()
    for gradient in sorted(a.gradients, key=lambda one: one.at):
        numbers = {target: seen[target] for target in gradient.targets}
        seen.update(numbers.keys())
        target = next((one for one in gradient.targets if one in theirs), None)
        if target is not None and numbers[target] < len(theirs[target]):
            found.gradients.append((gradient, theirs[target][numbers[target]]))


def _values(a: Rank, b: Rank, renamed: Any, found: Pairs) -> None:
    def key(value: Value, name: str) -> tuple[Any, ...]:
        when = "used" if value.when == "none" else value.when
        return (value.kind, when, name, value.step, value.optimizer)

    ours = {key(value, plain(value.name)): value for value in a.values}
    theirs = {key(value, renamed(value.name)): value for value in b.values}
    for one, value in ours.items():
        if one in theirs:
            found.values[one] = (value, theirs[one])
        else:
            found.values_only_a.append(value)
    found.values_only_b = [value for one, value in theirs.items() if one not in ours]


def slots(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> list[tuple[Tensor, Tensor]]:
    """Tensors of two calls that belong together: by name; where the names differ, by place."""
    theirs = {tensor.slot: tensor for tensor in b}
    if all(tensor.slot in theirs for tensor in a):
        return [(tensor, theirs[tensor.slot]) for tensor in a]
    if len(a) == len(b):
        return list(zip(a, b, strict=True))
    return [(tensor, theirs[tensor.slot]) for tensor in a if tensor.slot in theirs]
