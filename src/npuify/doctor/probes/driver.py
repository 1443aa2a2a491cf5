"""Driver and firmware: what their version files say. Formats: facts/facts.md, section 2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from npuify.doctor.machine import Sight

DEFAULT: Final = "/usr/local/Ascend"
_LINE: Final = re.compile(r"^\s*([\w.]+)\s*=\s*(.*?)\s*$", re.MULTILINE)


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed of the driver package. Empty: not there."""

    root: str
    version: str = ""
    firmware: str = ""
    firmware_range: tuple[str, str] = ("", "")
    """The firmware versions that this driver goes with, ends included."""
    libraries: bool = False
    """Whether the driver's libraries are there."""
    user: str = ""
    group: str = ""


def read(machine: Sight) -> Driver:
    """The driver below its installation path, which ``/etc/ascend_install.info`` names."""
    info = assignments(machine.read("/etc/ascend_install.info") or "")
    root = info.get("Driver_Install_Path_Param", "").rstrip("/") or DEFAULT
    if machine.node(f"{root}/driver") is None and machine.node(f"{DEFAULT}/driver") is not None:
        root = DEFAULT
    driver = assignments(machine.read(f"{root}/driver/version.info") or "")
    firmware = assignments(machine.read(f"{root}/firmware/version.info") or "")
    bounds = re.findall(r"[\d.]+", driver.get("compatible_version_fw", ""))
    return Driver(
        root=root,
        version=driver.get("Version", driver.get("package_version", "")),
        firmware=firmware.get("Version", ""),
        firmware_range=(bounds[0], bounds[1]) if len(bounds) == 2 else ("", ""),
        libraries=bool(machine.entries(f"{root}/driver/lib64")),
        user=info.get("UserName", ""),
        group=info.get("UserGroup", ""),
    )


def assignments(text: str) -> dict[str, str]:
    """``key=value`` lines, quotes taken off."""
    return {name: value.strip("\"'") for name, value in _LINE.findall(text)}
