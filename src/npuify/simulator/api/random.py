"""Random numbers of the simulated devices: each has a generator of its own, apart from the CPU's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from npuify.simulator import state
from npuify.simulator.api import devices

if TYPE_CHECKING:
    import torch


def get_default_generator(device_index: int) -> torch.Generator:
    """The generator that a device's operators draw from."""
    return cast("torch.Generator", state.device.default_generator(device_index))


def _get_generator(device: torch.device) -> torch.Generator:
    return get_default_generator(devices._get_device_index(device, optional=True))


def get_rng_state(device: Any = "npu") -> torch.Tensor:
    """The generator's state, as a byte tensor on the CPU."""
    devices._lazy_init()
    return _get_generator(devices._get_device(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [get_rng_state(i) for i in range(devices.device_count())]


def set_rng_state(new_state: torch.Tensor, device: Any = "npu") -> None:
    """Set a generator's state to one that :func:`get_rng_state` gave."""
    devices._lazy_init()
    _get_generator(devices._get_device(device)).set_state(new_state.clone())


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all devices."""
    for i, one in enumerate(new_states):
        set_rng_state(one, i)


def manual_seed(seed: int) -> None:
    """Seed the current device's generator."""
    get_default_generator(state.device.current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed all devices' generators."""
    for i in range(devices.device_count()):
        get_default_generator(i).manual_seed(int(seed))


def seed() -> None:
    """Seed the current device's generator from nowhere in particular."""
    get_default_generator(state.device.current_device()).seed()


def seed_all() -> None:
    """Seed all devices' generators alike, from nowhere in particular."""
    first = get_default_generator(0).seed()
    for i in range(1, devices.device_count()):
        get_default_generator(i).manual_seed(first)


def initial_seed() -> int:
    """The seed of the current device's generator."""
    devices._lazy_init()
    return get_default_generator(state.device.current_device()).initial_seed()


def _get_rng_state_offset(device: Any = "npu") -> int:
    devices._lazy_init()
    return int(_get_generator(devices._get_device(device)).get_offset())


def _set_rng_state_offset(offset: int, device: Any = "npu") -> None:
    devices._lazy_init()
    _get_generator(devices._get_device(device)).set_offset(offset)
