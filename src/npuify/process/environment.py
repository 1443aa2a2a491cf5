"""The environment that has a Python, and all its children, begin with npuify."""

from __future__ import annotations

import os
import re
from pathlib import Path

SHIM = Path(__file__).resolve().parent / "shim"
HOME = Path(__file__).resolve().parent.parent.parent


def let_begin(environ: dict[str, str], prefix: str) -> None:
    """Have every Python that starts with ``environ`` run the shim, which begins what ``prefix`` names there."""
    environ[f"{prefix}_HOME"] = str(HOME)
    path = [str(SHIM), *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
    environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path))


def spare_amx(environ: dict[str, str], cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Keep PyTorch from instructions that some virtual machines announce and then refuse, which ends it by SIGILL.

    Products of bfloat16 take them, so that programs for NPUs do sooner or later. What is computed is the same; where
    the user has set the variable, that counts.
    """
    if "ONEDNN_MAX_CPU_ISA" in environ:
        return
    try:
        announced = re.search(r"^flags\s*:.*\bamx_bf16\b", cpuinfo.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return
    if announced:
        environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"
