"""Run what programs/ has for one project: ``python -m tools.public_kernels.one NAME FOLDER``, the migrated one."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from tools.public_kernels.programs import images, language, points, rendering, sequences, training

ALL = {
    **images.PROGRAMS,
    **language.PROGRAMS,
    **points.PROGRAMS,
    **rendering.PROGRAMS,
    **sequences.PROGRAMS,
    **training.PROGRAMS,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    name, folder = sys.argv[1:]
    print(f"largest difference: {ALL[name](Path(folder).resolve()):.3e}")
