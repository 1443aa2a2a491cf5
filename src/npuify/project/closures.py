"""Transitive closures in a graph of numbered nodes, as sets of bits: what each node leads to.

A project has hundreds of programs, and most of them reach the same library: each set is made once, of those of what its
node leads to, and united or compared in one step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def bits_of(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, in ascending order."""
    digits = bin(mask)
    last = len(digits) - 1
    at = digits.rfind("1")
    while at > 1:
        yield last - at
        at = digits.rfind("1", 0, at)


class Closures(ABC):
    """What the nodes of a graph lead to, themselves included; worked out when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    @abstractmethod
    def successors(self, node: int) -> Iterable[int]:
        """The nodes to which one leads at once."""

    def of(self, node: int) -> int:
        """The nodes that ``node`` leads to, and itself: bit ``n`` stands for node ``n``."""
        known = self._known.get(node)
        if known is None:
            self._find(node)
            known = self._known[node]
        return known

    def of_all(self, nodes: Iterable[int]) -> int:
        """What any of the nodes leads to, and themselves."""
        found = 0
        for node in nodes:
            if not found >> node & 1:
                found |= self.of(node)
        return found

    def _find(self, start: int) -> None:
        """Tarjan's strongly connected components, without recursion: those of one component lead to the same nodes."""
        known, successors = self._known, self.successors
        order: dict[int, int] = {start: 0}
        lowest: dict[int, int] = {start: 0}
        reached: dict[int, int] = {start: 1 << start}
        path = [start]
        on_path = {start}
        open_ones = [(start, iter(successors(start)))]
        while open_ones:
            node, rest = open_ones[-1]
            for target in rest:
                if target in known:
                    reached[node] |= known[target]
                elif target not in order:
                    order[target] = lowest[target] = len(order)
                    reached[target] = 1 << target
                    path.append(target)
                    on_path.add(target)
                    open_ones.append((target, iter(successors(target))))
                    break
                elif target in on_path:
                    lowest[node] = min(lowest[node], order[target])
            else:
                open_ones.pop()
                if open_ones:
                    above = open_ones[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                    reached[above] |= reached[node]
                if lowest[node] == order[node]:
                    whole = reached[node]
                    while True:
                        member = path.pop()
                        on_path.discard(member)
                        known[member] = whole
                        if member == node:
                            break
