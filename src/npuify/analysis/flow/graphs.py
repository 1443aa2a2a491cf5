"""Graphs of DGL, whose ``to`` takes a device that only the CPU and CUDA are."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel

_MAKERS: Final = re.compile(
    r"dgl\.(?:\w+\.)*(?:DGLGraph|DGLHeteroGraph|graph|hetero_?graph|bipartite(?:_from_\w+)?|from_(?:scipy|networkx|cugraph)"
    r"|(?:un)?batch(?:_hetero)?|(?:add|remove)_(?:self_loop|edges|nodes)|to_(?:bidirected|simple(?:_graph)?|homogeneous"
    r"|heterogeneous|block|bidirected_stale)|(?:node|edge|in|out|khop_in|khop_out|node_type|edge_type)_subgraph|reverse"
    r"|rand_(?:graph|bipartite)|(?:segmented_)?knn_graph|radius_graph|line_graph|create_block|block_to_graph|merge"
    r"|compact_graphs|reorder_graph|metapath_reachable_graph|sample_neighbors(?:_biased)?|load_graphs)"
)
"""Functions that give graphs, or lists of them; ``dgl.nn`` has layers of PyTorch, and readouts give tensors."""
_DATASET: Final = re.compile(r"dgl\.data\.(?:\w+\.)*[A-Z]\w*")
_KEEPING: Final = frozenset(
    ("to", "int", "long", "cpu", "clone", "local_var", "formats", "subgraph", "reverse", "shared_memory")
)
"""Methods of graphs that give a graph."""
_NAMED: Final = re.compile(r"(?:\w*_)?(?:g|bg|hg|sg|graphs?|subgraphs?|blocks?)\d*")
"""What programs call the graphs that they are given."""
_DEPTH: Final = 6


def is_graph(node: ast.expr, file: FileModel) -> bool:
    """Whether an expression is surely a graph of DGL's, or is called one and nothing says what it is."""
    return b"dgl" in file.source.data and _is_graph(node, file, _DEPTH) is True


def _is_graph(node: ast.expr, file: FileModel, depth: int) -> bool | None:
    """None: nobody knows."""
    if depth == 0:
        return None
    if isinstance(node, ast.Call):
        name = file.source.qualname(node.func) or ""
        if name.startswith("dgl."):
            return _MAKERS.fullmatch(name) is not None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
            return _is_graph(node.func.value, file, depth - 1)
        return None if not name.startswith("torch.") else False
    if isinstance(node, ast.Subscript):
        return _holds_graphs(node.value, file, depth - 1)
    if not isinstance(node, ast.Name):
        return None
    found = file.scope(node).lookup(node.id)
    known: set[bool | None] = set()
    for binding in found[1] if found is not None else ():
        if binding.kind == "parameter" and isinstance(binding.node, ast.arg) and binding.node.annotation is not None:
            known.add((file.source.qualname(binding.node.annotation) or "").endswith(("DGLGraph", "DGLHeteroGraph")))
        elif binding.kind == "assign" and isinstance(binding.value, ast.expr) and not _names(binding.value, node.id):
            known.add(_is_graph(binding.value, file, depth - 1))
    sure = known - {None}
    if sure:
        return sure == {True}
    return True if _NAMED.fullmatch(node.id) else None


def _holds_graphs(node: ast.expr, file: FileModel, depth: int) -> bool | None:
    """Whether members of it are graphs: a data set of DGL's, or a list that it gave."""
    if depth <= 0:
        return None
    if isinstance(node, ast.Subscript):
        return _holds_graphs(node.value, file, depth - 1)
    if isinstance(node, ast.Call):
        name = file.source.qualname(node.func) or ""
        return _DATASET.fullmatch(name) is not None or _MAKERS.fullmatch(name) is not None or None
    if isinstance(node, ast.Name):
        found = file.scope(node).lookup(node.id)
        known = {
            _holds_graphs(binding.value, file, depth - 1)
            for binding in (found[1] if found is not None else ())
            if binding.kind == "assign" and isinstance(binding.value, ast.expr)
        }
        return True if known == {True} else None
    return None


def _names(value: ast.expr, name: str) -> bool:
    """Whether a value is made of the very name that it is bound to: ``g = g.to(device)`` says nothing new."""
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(value))
