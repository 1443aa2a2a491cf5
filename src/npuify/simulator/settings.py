"""What ``npuify simulate`` was asked for, as the environment carries it to the program and all its children."""

from __future__ import annotations

import os
from dataclasses import dataclass

PREFIX = "NPUIFY_SIMULATE"
POLICIES = ("off", "warn", "error")
ENGINES = ("auto", "native", "python")


class WrongSettingError(ValueError):
    """A variable of the environment asks for a machine that cannot be simulated; the message names it."""


@dataclass(frozen=True)
class Settings:
    """One simulated machine."""

    devices: int = 8
    """NPUs, 1 to 64."""
    memory: int = 64 << 30
    """Bytes of memory of each."""
    torch_npu: str = ""
    """The torch_npu release to stand for; empty: the one that belongs to the installed torch."""
    soc: str = "Ascend910B1"
    """Name of the chip, as ``torch.npu.get_device_name()`` gives it."""
    policy: str = "warn"
    """At an operator that the release runs on the host's CPU: ``off``, ``warn`` (as there) or ``error``."""
    cpu_random: bool = False
    """Draw the NPU's random numbers from the CPU's generator, so that runs can be compared."""
    engine: str = "auto"
    """``native``: the compiled device; ``python``: without a compiler; ``auto``: that where there is none."""
    cache: str = ""
    """Folder for the compiled device; empty: the user's cache folder."""

    def environment(self) -> dict[str, str]:
        """As variables of the environment."""
        return {
            PREFIX: "1",
            f"{PREFIX}_DEVICES": str(self.devices),
            f"{PREFIX}_MEMORY": str(self.memory),
            f"{PREFIX}_TORCH_NPU": self.torch_npu,
            f"{PREFIX}_SOC": self.soc,
            f"{PREFIX}_POLICY": self.policy,
            f"{PREFIX}_CPU_RANDOM": "1" if self.cpu_random else "",
            f"{PREFIX}_ENGINE": self.engine,
            f"{PREFIX}_CACHE": self.cache,
        }


def from_environment() -> Settings:
    """The settings that a parent ``npuify simulate`` left; defaults for what it did not.

    Raises:
        WrongSettingError: one of them was changed into something that no machine can be made of.
    """
    get = os.environ.get
    default = Settings()
    return Settings(
        devices=_number("DEVICES", default.devices, 64),
        memory=_number("MEMORY", default.memory),
        torch_npu=get(f"{PREFIX}_TORCH_NPU", ""),
        soc=get(f"{PREFIX}_SOC", "") or default.soc,
        policy=_one_of("POLICY", default.policy, POLICIES),
        cpu_random=bool(get(f"{PREFIX}_CPU_RANDOM", "")),
        engine=_one_of("ENGINE", default.engine, ENGINES),
        cache=get(f"{PREFIX}_CACHE", ""),
    )


def _number(name: str, default: int, most: int = 1 << 62) -> int:
    given = os.environ.get(f"{PREFIX}_{name}", "")
    if not given:
        return default
    if not given.isdecimal() or not 1 <= int(given) <= most:
        raise WrongSettingError(f"{PREFIX}_{name}={given} is not a number from 1 to {most}")
    return int(given)


def _one_of(name: str, default: str, known: tuple[str, ...]) -> str:
    given = os.environ.get(f"{PREFIX}_{name}", "") or default
    if given not in known:
        raise WrongSettingError(f"{PREFIX}_{name}={given} is none of {', '.join(known)}")
    return given
