"""What ``npuify run`` was asked for, as the environment carries it to the program and all its children."""

from __future__ import annotations

import os
from dataclasses import dataclass

PREFIX = "NPUIFY_RUN"
DEVICES = ("npu", "simulated")


@dataclass(frozen=True)
class Settings:
    """One run."""

    device: str = "npu"
    """``npu``: the torch_npu that is installed; ``simulated``: the one of :mod:`npuify.simulator`."""
    trace: str = ""
    """File for the trace, as an absolute path; empty: none is written."""
    disabled: tuple[str, ...] = ()
    """Patches that are left out."""
    log: bool = False
    """Say on the standard error which patches were put in place in which process."""

    def environment(self) -> dict[str, str]:
        """As variables of the environment."""
        return {
            PREFIX: "1",
            f"{PREFIX}_DEVICE": self.device,
            f"{PREFIX}_TRACE": self.trace,
            f"{PREFIX}_DISABLE": ",".join(self.disabled),
            f"{PREFIX}_LOG": "1" if self.log else "",
        }


def from_environment() -> Settings:
    """The settings that a parent ``npuify run`` left; defaults for what it did not."""
    get = os.environ.get
    disabled = tuple(name.strip() for name in get(f"{PREFIX}_DISABLE", "").split(",") if name.strip())
    return Settings(
        device=get(f"{PREFIX}_DEVICE", "") or "npu",
        trace=get(f"{PREFIX}_TRACE", ""),
        disabled=disabled,
        log=get(f"{PREFIX}_LOG", "") not in ("", "0"),
    )
