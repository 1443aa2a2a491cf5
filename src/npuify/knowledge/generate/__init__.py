"""Make a release file from the wheels of torch_npu and of the torch it needs. Files are read; nothing is imported."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from .wheel import Wheel

GENERATOR = "1"
"""Raised whenever the same wheels would give another file."""


def generate(torch_npu: str, *, wheels: Path | None = None, output: Path) -> Path:
    """Write ``output/<torch_npu>.json`` and return its path.

    Args:
        torch_npu: the exact version of the release, with its post number.
        wheels: a folder that holds both wheels; without it they are downloaded with pip, and thrown away afterwards.
        output: the folder to write to; made if it is not there.

    Raises:
        NpuifyError: a wheel cannot be had or read, or is not what its name says.
    """
    from .build import build
    from .download import obtain, torch_platforms
    from .wheel import Wheel

    with tempfile.TemporaryDirectory(prefix="npuify-") as temporary:
        folder = Path(temporary)
        npu_path = obtain("torch-npu", torch_npu, torch_platforms("2.1"), wheels, folder)
        npu = Wheel(npu_path)
        try:
            version = required_torch(npu)
            torch = Wheel(obtain("torch", version, torch_platforms(version), wheels, folder))
            try:
                content = build(torch, npu, GENERATOR)
            finally:
                torch.close()
        finally:
            npu.close()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{npu.version}.json"
    path.write_bytes(content)
    return path


def required_torch(npu: Wheel) -> str:
    """The torch version that a torch_npu wheel asks for.

    Early releases ask for none; theirs is their own version without the post number.
    """
    for requirement in npu.metadata.get_all("Requires-Dist") or []:
        match = re.match(r"torch\s*\(?==\s*([0-9.]+?)(?:\.\*)?(?:\+[a-z]+)?\)?\s*(?:;|$)", requirement)
        if match:
            return match.group(1)
    match = re.match(r"\d+\.\d+\.\d+", npu.version)
    if match is None:
        raise NpuifyError(phrase("cannot tell which torch {version} needs", version=npu.version), file=str(npu.path))
    return match.group()
