"""Automatic mixed precision as ``torch.npu.amp`` offers it."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator import state
from npuify.simulator.api import devices

try:
    from torch.amp.grad_scaler import GradScaler as _TorchGradScaler
except ImportError:  # before torch 2.3
    from npuify.simulator.api.older_grad_scaler import GradScaler as _TorchGradScaler


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Types that autocast may lower to."""
    if devices.is_bf16_supported():
        return [torch.float16, torch.bfloat16, torch.float32]
    return [torch.float16, torch.float32]


if hasattr(torch, "get_autocast_dtype"):

    def is_autocast_enabled() -> bool:
        """Whether autocast is on for NPUs."""
        return bool(torch.is_autocast_enabled("npu"))

    def set_autocast_enabled(enable: bool) -> None:
        """Turn autocast on or off for NPUs."""
        torch.set_autocast_enabled("npu", enable)

    def get_autocast_dtype() -> torch.dtype:
        """The type that autocast lowers to."""
        return torch.get_autocast_dtype("npu")

    def set_autocast_dtype(dtype: torch.dtype) -> None:
        """Set the type that autocast lowers to."""
        torch.set_autocast_dtype("npu", dtype)

else:  # before torch 2.4
    _TYPES = {5: torch.float16, 6: torch.float32, 7: torch.float64, 15: torch.bfloat16}
    """By c10::ScalarType."""

    def is_autocast_enabled() -> bool:
        """Whether autocast is on for NPUs."""
        return bool(state.device.autocast_enabled())

    def set_autocast_enabled(enable: bool) -> None:
        """Turn autocast on or off for NPUs."""
        state.device.set_autocast_enabled(enable)

    def get_autocast_dtype() -> torch.dtype:
        """The type that autocast lowers to."""
        return _TYPES[state.device.autocast_type()]

    def set_autocast_dtype(dtype: torch.dtype) -> None:
        """Set the type that autocast lowers to."""
        state.device.set_autocast_type(next(number for number, one in _TYPES.items() if one is dtype))


class autocast(torch.autocast):  # noqa: N801 - its name in torch_npu
    """``torch.autocast("npu", ...)``."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def amp_definitely_not_available() -> bool:
    """Whether there is no NPU."""
    return not devices.is_available()


class GradScaler(_TorchGradScaler):
    """Loss scaling. ``dynamic=False`` keeps the scale as it is."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def state_dict(self) -> dict[str, Any]:
        """That of PyTorch's, and whether the scale changes."""
        found: dict[str, Any] = super().state_dict()
        return {**found, "dynamic": self._dynamic} if found else found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """What :meth:`state_dict` gave; one of PyTorch's does, too."""
        super().load_state_dict(state_dict)
        if self._enabled:
            self._dynamic = state_dict.get("dynamic", self._dynamic)

    def _unscale_grads_(self, *args: Any, **kwargs: Any) -> dict[torch.device, torch.Tensor]:
        """Whether gradients overflow, by device: also where an optimizer has none, which PyTorch's scaler refuses."""
        found: dict[torch.device, torch.Tensor] = super()._unscale_grads_(*args, **kwargs)
        return found or {self._scale.device: torch.zeros((), device=self._scale.device)}

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if not self._dynamic:
            return optimizer.step(*args, **kwargs)
        if any(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            print("Gradient overflow. Skipping step")
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after a step; with ``dynamic=False`` only the record of this step is dropped."""
        if not self._enabled or self._dynamic or new_scale is not None:
            super().update(new_scale)
            return
        for key in list(self._per_optimizer_states):
            del self._per_optimizer_states[key]


if hasattr(torch.amp, "custom_fwd"):

    def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
        """``torch.amp.custom_fwd`` for NPUs."""
        return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)

    def custom_bwd(bwd: Any) -> Any:
        """``torch.amp.custom_bwd`` for NPUs."""
        return torch.amp.custom_bwd(bwd, device_type="npu")

else:  # before torch 2.4
    import functools

    def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
        """Mark the forward of an autograd function for autocast."""
        if fwd is None:
            return functools.partial(custom_fwd, cast_inputs=cast_inputs)

        @functools.wraps(fwd)
        def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            ctx._fwd_used_autocast = is_autocast_enabled()
            if cast_inputs is None or not is_autocast_enabled():
                return fwd(ctx, *args, **kwargs)
            ctx._fwd_used_autocast = False
            args = tuple(
                a.to(cast_inputs) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args
            )
            with autocast(enabled=False):
                return fwd(ctx, *args, **kwargs)

        return run

    def custom_bwd(bwd: Any) -> Any:
        """Run the backward of an autograd function in the autocast state of its forward."""

        @functools.wraps(bwd)
        def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            with autocast(enabled=ctx._fwd_used_autocast):
                return bwd(ctx, *args, **kwargs)

        return run
