# mypy: ignore-errors
"""What torch_sparse's functions over pairs of index and value compute, in plain PyTorch.

One sort of the index; how many entries are left where some fall together is asked of the device.
"""

import torch


def coalesce(index, value, m, n, op="add"):
    """Entries in the order of rows and columns, those of one place put together."""
    place = index[0] * n + index[1]
    ranked, order = place.sort(stable=True)
    value = None if value is None else value[order]
    first = torch.ones_like(ranked, dtype=torch.bool)
    first[1:] = ranked[1:] != ranked[:-1]
    kept = index[:, order][:, first]
    if value is None or kept.shape[1] == len(order):
        return kept, value
    group = first.cumsum(0) - 1
    shape = (kept.shape[1], *value.shape[1:])
    if op in ("add", "sum", "mean"):
        made = value.new_zeros(shape).index_add(0, group, value)
        if op == "mean":
            number = torch.bincount(group, minlength=shape[0]).clamp(min=1).reshape(-1, *[1] * (value.dim() - 1))
            made = made / number if made.is_floating_point() else torch.div(made, number, rounding_mode="floor")
        return kept, made
    into = group.reshape(-1, *[1] * (value.dim() - 1)).expand_as(value)
    start = torch.zeros(shape, dtype=value.dtype, device=value.device)
    return kept, start.scatter_reduce(0, into, value, {"min": "amin", "max": "amax"}[op], include_self=False)


def transpose(index, value, m, n, coalesced=True):
    index = index.flip(0)
    return coalesce(index, value, n, m) if coalesced else (index, value)


def spmm(index, value, m, n, matrix):
    """(…, m, columns): the product of a sparse (m, n) with a dense matrix."""
    assert n == matrix.size(-2)
    matrix = matrix if matrix.dim() > 1 else matrix.unsqueeze(-1)
    parts = matrix.index_select(-2, index[1]) * value.unsqueeze(-1)
    return parts.new_zeros(*parts.shape[:-2], m, parts.shape[-1]).index_add(-2, index[0], parts)


def eye(m, dtype=None, device=None):
    row = torch.arange(m, dtype=torch.long, device=device)
    return torch.stack([row, row], dim=0), torch.ones(m, dtype=dtype, device=device)
