"""The collective operators of HCCL, computed between the processes of a job.

Signatures are the adapter's: hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/hccl/hccl_ops.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from npuify.simulator.tensorflow.inside import journal, world
from npuify.simulator.tensorflow.inside.framework import ops, tf

WORLD = world.WORLD
_REDUCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_LACKING = ("float64", "complex64", "complex128")
_graphs = itertools.count()


def _key(operation: str) -> str:
    """A name for a collective that is the same on all ranks as long as they build the same graphs."""
    if tf.executing_eagerly():
        return f"eager code/0:{operation}"
    graph = ops.get_default_graph()
    if not hasattr(graph, "_npuify_label"):
        name = getattr(graph, "name", None)
        graph._npuify_label = f"function {name}" if name else f"graph {next(_graphs)}"
        graph._npuify_collectives = 0
    number = graph._npuify_collectives
    graph._npuify_collectives += 1
    return f"{graph._npuify_label}/{number}:{operation}"


def exchange(operation: str, tensors: list[Any], then: Any, *, group: str = WORLD, **details: Any) -> list[Any]:
    """Operators that give ``tensors`` to the other ranks and make something of what comes back.

    Args:
        operation: its name.
        tensors: this rank's.
        then: makes this rank's results, a list like the tensors, of the lists that each rank gave, in their order.
        group: who takes part.
        details: what has to be the same on all ranks besides; ``root`` is the one that alone gives something.
    """
    tensors = [ops.convert_to_tensor(tensor) for tensor in tensors]
    key = _key(operation)
    types = [tensor.dtype.base_dtype for tensor in tensors]
    for each in types:
        if each.name in _LACKING:
            journal.tell(f"type-{each.name}", f"{operation} of {each.name}, which NPUs do not have")

    def run(*values: Any) -> list[Any]:
        arrays = [np.asarray(value) for value in values]  # ascontiguousarray would make a vector of a number
        shapes = [(array.dtype.str, list(array.shape)) for array in arrays]
        what = {"operation": operation, "tensors": shapes, **details}
        body = b"".join(array.tobytes() for array in arrays)
        journal.count(operation)
        journal.count(f"{operation} tensors", len(arrays))
        parts = world.exchange(key, what, body, group, details.get("root"))
        made = then([_arrays(part, shapes) for part in parts])
        return [np.asarray(array, dtype=each.as_numpy_dtype) for array, each in zip(made, types)]

    if tf.executing_eagerly():
        return [tf.convert_to_tensor(value) for value in run(*[tensor.numpy() for tensor in tensors])]
    return list(tf.numpy_function(run, tensors, types, name=f"npuify_{operation}"))


def _arrays(part: bytes, shapes: list[tuple[str, list[int]]]) -> list[Any]:
    found, start = [], 0
    for kind, shape in shapes:
        number = int(np.prod(shape, dtype=np.int64))
        found.append(np.frombuffer(part, np.dtype(kind), number, start).reshape(shape))
        start += number * np.dtype(kind).itemsize
    return found


def _reduced(parts: list[list[Any]], reduction: str) -> list[Any]:
    function = _REDUCTIONS[reduction]
    total = [np.array(array) for array in parts[0]]
    for part in parts[1:]:
        total = [function(one, other) for one, other in zip(total, part)]
    return total


def _checked(reduction: str) -> str:
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"Value for attr 'reduction' of {reduction!r} is not in the list of allowed values: max, min, prod, sum"
        )
    return reduction


def reduce_together(tensors: list[Any], reduction: str, group: str = WORLD) -> list[Any]:
    """The reduction of several tensors as one operator, which differentiates as the adapter's does."""
    _checked(reduction)
    tensors = [ops.convert_to_tensor(tensor) for tensor in tensors]

    @tf.custom_gradient
    def made(*given: Any) -> Any:
        outs = exchange(
            "allreduce", list(given), lambda parts: _reduced(parts, reduction), group=group, reduction=reduction
        )
        for out, one in zip(outs, given):
            out.set_shape(one.shape)

        def gradient(*upstream: Any) -> Any:
            return reduce_together(list(upstream), "sum", group)

        return outs, gradient

    found = made(*tensors)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def allreduce(tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD) -> Any:
    """The reduction over all ranks of a group."""
    if isinstance(tensor, (list, tuple)):
        # The operator takes one tensor; a list of one of them becomes a tensor with a dimension more.
        tensor = tf.stack(tensor)
    return reduce_together([tensor], reduction, group)[0]


def allgather(tensor: Any, rank_size: int, group: str = WORLD, fusion: int = 0, fusion_id: int = -1) -> Any:
    """The tensors of all ranks, one behind the other. They have to have the same shape."""
    tensor = ops.convert_to_tensor(tensor)
    _fits(rank_size, group)
    out = exchange("allgather", [tensor], lambda parts: [np.concatenate([part[0] for part in parts])], group=group)[0]
    shape = tensor.shape.as_list() if tensor.shape.rank else None
    if shape:
        out.set_shape([None if shape[0] is None else shape[0] * int(rank_size), *shape[1:]])
    return out


def broadcast(tensor: Any, root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD) -> Any:
    """The root's tensors, a list. The operator does not take a tensor that is in no list."""
    if not isinstance(tensor, (list, tuple)):
        raise TypeError(f"Expected list for 'input' argument to 'HcomBroadcast' Op, not {tensor}.")
    members = max(len(world._members(group)), 1)
    if not 0 <= int(root_rank) < members:
        raise ValueError(f"root_rank {root_rank} is none of the {members} ranks of {group}")
    journal.note("broadcast", tensors=len(tensor), names=[str(getattr(one, "name", "")) for one in tensor[:3]])
    outs = exchange("broadcast", list(tensor), lambda parts: parts[0], group=group, root=int(root_rank))
    for out, one in zip(outs, tensor):
        out.set_shape(one.shape)
    return outs


def reduce(
    tensor: Any, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """The reduction, at the root; what the others get is nothing to build on, here it is what they gave."""
    _checked(reduction)
    own = world._members(group).index(journal.rank()) if world.size() > 1 else 0
    out = exchange(
        "reduce",
        [tensor],
        lambda parts: _reduced(parts, reduction) if own == int(root_rank) else parts[own],
        group=group,
        reduction=reduction,
        to=int(root_rank),
    )[0]
    out.set_shape(ops.convert_to_tensor(tensor).shape)
    return out


def reduce_scatter(
    tensor: Any, reduction: str, rank_size: int, group: str = WORLD, fusion: int = 0, fusion_id: int = -1
) -> Any:
    """This rank's part of the reduction."""
    _checked(reduction)
    _fits(rank_size, group)
    own = world._members(group).index(journal.rank()) if world.size() > 1 else 0
    return exchange(
        "reduce_scatter",
        [tensor],
        lambda parts: [np.split(_reduced(parts, reduction)[0], int(rank_size))[own]],
        group=group,
        reduction=reduction,
    )[0]


def _fits(rank_size: int, group: str) -> None:
    members = len(world._members(group))
    if int(rank_size) != members:
        raise ValueError(f"rank_size {rank_size} is not the {members} of {group}")
