"""Loss scaling on PyTorch 2.1 and 2.2, whose own is for CUDA alone, with the face of ``torch.amp.GradScaler``."""

from __future__ import annotations

from collections import abc, defaultdict
from typing import Any

import torch
from torch.cuda.amp import grad_scaler as cuda

_cuda: Any = cuda


class _Copies(_cuda._MultiDeviceReplicator):
    def __init__(self, master_tensor: torch.Tensor) -> None:  # without asking for a device of CUDA
        self.master = master_tensor
        self._per_device_tensors: dict[torch.device, torch.Tensor] = {}


_cuda._MultiDeviceReplicator = _Copies


def _unscale(grads: list[torch.Tensor], found_inf: torch.Tensor, inv_scale: torch.Tensor) -> None:
    for grad in grads:
        if not torch.isfinite(grad).all():
            found_inf.fill_(1.0)
        grad.mul_(inv_scale.to(grad.dtype))


def _update(
    scale: torch.Tensor, tracker: torch.Tensor, found_inf: torch.Tensor, growth: float, backoff: float, interval: int
) -> torch.Tensor:
    if found_inf.item():
        scale.mul_(backoff)
        tracker.fill_(0)
    elif int(tracker.item()) + 1 == interval:
        if torch.isfinite(scale * growth):
            scale.mul_(growth)
        tracker.fill_(0)
    else:
        tracker.add_(1)
    return scale


_kept = torch.library.Library("aten", "IMPL")
_kept.impl("_amp_foreach_non_finite_check_and_unscale_", _unscale, "PrivateUse1")  # there the CPU has neither of them
_kept.impl("_amp_update_scale_", _update, "PrivateUse1")


class GradScaler(_cuda.GradScaler):
    """Loss scaling on any device.

    Arguments:
        device: the kind of device; the scale is where the first loss is.
        init_scale: what losses are multiplied by at first.
        growth_factor: what the scale is multiplied by after ``growth_interval`` steps without infinities.
        backoff_factor: what it is multiplied by after a step with one.
        growth_interval: a number of steps.
        enabled: False: nothing is scaled.
    """

    def __init__(
        self,
        device: str = "npu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(enabled=False)  # it would turn itself off without CUDA, and say so
        self._enabled = enabled
        if enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
            self._init_scale, self._init_growth_tracker = init_scale, 0
            self._scale: Any = None
            self._growth_tracker: Any = None
            self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
            self._growth_interval = growth_interval
            states: defaultdict[int, Any] = defaultdict(_cuda._refresh_per_optimizer_state)
            self._per_optimizer_states = states

    def scale(self, outputs: Any) -> Any:
        """A tensor, or all of a nest of lists and tuples, times the scale.

        Raises:
            ValueError: something else stands there.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if isinstance(outputs, abc.Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")
