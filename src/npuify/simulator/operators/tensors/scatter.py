"""Writing at indices."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DOCUMENTS, operator


@operator("npu_scatter", source="torch_npu/_op_plugin_docs.py", evidence="package")
def npu_scatter(self: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, dim: int) -> torch.Tensor:
    if indices.numel() == 0:
        return self.clone()
    name = "npu_scatter"
    require(indices.dim() in (self.dim(), self.dim() - 1), name, "indices have the dimensions of self, or one less")
    require(updates.shape == indices.shape, name, "updates and indices differ in shape")
    if indices.dim() == self.dim() - 1:
        # As in the documentation's example: one element for each row, at the index along the next dimension.
        axis = dim + 1 if dim >= 0 else dim
        require(-self.dim() <= axis < self.dim(), name, f"there is no dimension {axis}")
        return self.scatter(axis, indices.long().unsqueeze(axis), updates.to(self.dtype).unsqueeze(axis))
    return self.scatter(dim, indices.long(), updates.to(self.dtype))


@operator("npu_scatter_nd_update")
def npu_scatter_nd_update(self: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    name = "npu_scatter_nd_update"
    depth = indices.shape[-1]
    require(depth <= self.dim(), name, f"indices name {depth} dimensions of {self.dim()}")
    wanted = (*indices.shape[:-1], *self.shape[depth:])
    require(tuple(updates.shape) == wanted, name, f"updates have the shape {tuple(updates.shape)}, not {wanted}")
    require(updates.dtype == self.dtype, name, f"types differ: {self.dtype} and {updates.dtype}")
    result = self.clone()
    place = tuple(indices[..., axis].long() for axis in range(depth))
    result[place] = updates
    return result


@operator("scatter_update", source=f"{DOCUMENTS}torch_npu-scatter_update.md")
def scatter_update(self: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, axis: int) -> torch.Tensor:
    name = "scatter_update"
    require(indices.dim() in (1, 2), name, f"indices have 1 or 2 dimensions, not {indices.dim()}")
    require(updates.dim() == self.dim(), name, "updates and data differ in dimensions")
    axis = axis % self.dim()
    require(axis != 0, name, "axis 0 is the batch")
    result = self.clone()
    length = updates.shape[axis]
    places = torch.arange(length, device=self.device)
    for row in range(updates.shape[0]):
        if indices.dim() == 1:
            batch, start = row, indices[row].long()
        else:
            batch, start = indices[row, 0].long(), indices[row, 1].long()
        result[batch] = result[batch].index_copy(axis - 1, start + places, updates[row])
    return result


@operator("npu_scatter_list", source="torch_npu/_op_plugin_docs.py", evidence="package", note="reduce='update' only")
def npu_scatter_list(
    self: list[torch.Tensor],
    indices: torch.Tensor,
    updates: torch.Tensor,
    mask: torch.Tensor | None = None,
    reduce: str = "update",
    axis: int = -2,
) -> list[torch.Tensor]:
    require(reduce == "update", "npu_scatter_list", f"reduce is 'update', not {reduce!r}")
    results = [tensor.clone() for tensor in self]
    for row, target in enumerate(results):
        if mask is not None and not bool(mask[row]):
            continue
        along = axis % updates.dim() - 1
        length = updates.shape[axis]
        if indices.dim() == 1:
            start = indices[row].long()
        else:
            start, length = indices[row, 0].long(), int(indices[row, 1])
        places = start + torch.arange(length, device=target.device)
        target.index_copy_(along, places, updates[row].narrow(along, 0, length))
    return results


@operator("_npu_index_add", source="PyTorch's index_add at dimension 0", evidence="assumed")
def _npu_index_add(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, alpha: float = 1) -> torch.Tensor:
    return self.index_add(0, index, source, alpha=alpha)
