"""What the machine is: versions and the name of the chip."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
from pathlib import Path
from typing import Any

from npuify.selftest.inside.ask import is_stand_in

_DRIVER = Path("/usr/local/Ascend")
"""Where the driver's installer puts it, unless told otherwise."""


def describe() -> dict[str, Any]:
    """See :class:`npuify.knowledge.hardware.results.MachineSeen`."""
    import torch
    import torch_npu

    version = str(torch_npu.__version__)
    stand_in = is_stand_in()
    cards = int(torch.npu.device_count())
    cann = str(getattr(torch.version, "cann", "") or "")
    return {
        "kind": "simulated" if version.endswith("+simulated") else "stand-in" if stand_in else "npu",
        "chip": str(torch.npu.get_device_name(0)) if cards else "",
        "cards": cards,
        "driver": _version(_DRIVER / "driver" / "version.info"),
        "firmware": _version(_DRIVER / "firmware" / "version.info"),
        "cann": cann if cann[:1].isdigit() else "",
        "torch": str(torch.__version__).partition("+")[0],
        "torch_npu": version.partition("+")[0],
        "python": ".".join(map(str, sys.version_info[:3])),
        "architecture": platform.machine(),
    }


def _version(path: Path) -> str:
    with contextlib.suppress(OSError):
        found = re.search(r"^Version\s*=\s*([\w.]+)", path.read_text(errors="replace"), re.MULTILINE)
        return found.group(1) if found else ""
    return ""
