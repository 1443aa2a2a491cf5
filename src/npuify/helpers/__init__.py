"""Modules that ``migrate`` writes into a project. They import torch, so npuify itself never imports them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

MARK: Final = "npuify: ignore-file - written by `npuify migrate"
"""Stands in the first line of each, by which it is known again and passed over."""

CPU_FALLBACK: Final = "npuify_on_cpu"
"""The name of the module that moves calls to the CPU."""
STAND_INS: Final = "npuify_stand_ins"
"""The name of the module that holds stand-ins for what a release lacks."""
PADDING: Final = "npuify_padding"
"""The name of the module that holds flash_attn's functions for padding."""

_FILES: Final = {
    CPU_FALLBACK: ("cpu_fallback.py", " --cpu-fallback"),
    STAND_INS: ("stand_ins.py", " --replace-unsupported"),
    PADDING: ("padding.py", ""),
}


@cache
def helper_text(module: str) -> bytes:
    """What is written into a project as ``module``."""
    name, option = _FILES[module]
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert head.startswith("# mypy:")
    return f"# {MARK}{option}`\n{rest}".encode()
