"""What each node of a graph leads to, against a walk from each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from npuify.project.closures import Closures, bits_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class Graph(Closures):
    def __init__(self, edges: dict[int, set[int]]) -> None:
        super().__init__()
        self.edges = edges

    def successors(self, node: int) -> Iterable[int]:
        return self.edges.get(node, ())


def walked(edges: dict[int, set[int]], start: int) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        for target in edges.get(pending.pop(), ()):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


NODES = st.integers(0, 9)


@given(st.dictionaries(NODES, st.sets(NODES, max_size=4)), st.permutations(range(10)))
def test_each_node_leads_to_what_a_walk_finds(edges: dict[int, set[int]], order: list[int]) -> None:
    graph = Graph(edges)
    for node in order:
        assert set(bits_of(graph.of(node))) == walked(edges, node)
    assert set(bits_of(graph.of_all(order[:3]))) == set().union(*(walked(edges, node) for node in order[:3]))


@given(st.sets(st.integers(0, 200)))
def test_bits_are_listed_in_order(numbers: set[int]) -> None:
    assert list(bits_of(sum(1 << number for number in numbers))) == sorted(numbers)
