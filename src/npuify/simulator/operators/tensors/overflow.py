"""The float status of devices that saturate. The simulated device does not saturate; the status stays clear."""

from __future__ import annotations

import torch

from npuify.simulator.operators.table import DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"
_NOTE = "the status is always clear"


@operator("npu_alloc_float_status", source=f"{_BETA}npu_alloc_float_status.md", note=_NOTE)
def npu_alloc_float_status(self: torch.Tensor) -> torch.Tensor:
    return torch.zeros(8, dtype=torch.float32, device=self.device)


@operator("npu_get_float_status", source=f"{_BETA}npu_get_float_status.md", note=_NOTE)
def npu_get_float_status(self: torch.Tensor, mode: int = 0) -> torch.Tensor:
    return torch.zeros(8, dtype=torch.float32, device=self.device)


@operator("npu_clear_float_status", source=f"{_BETA}npu_clear_float_status.md", note=_NOTE)
def npu_clear_float_status(self: torch.Tensor, mode: int = 0) -> torch.Tensor:
    return torch.zeros(8, dtype=torch.float32, device=self.device)


@operator("_amp_foreach_non_finite_check", source="its name", evidence="assumed")
def _amp_foreach_non_finite_check(scaled_grads: list[torch.Tensor]) -> bool:
    return any(not bool(torch.isfinite(gradient).all()) for gradient in scaled_grads)
