"""Where tests of generated tables get wheels from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npuify.knowledge.generate import download
from npuify.model import NpuifyError

SMALLEST = "2.1.0.post17"
"""The release with the smallest pair of wheels, about 100 MB to download."""


def _index_answers(folder: Path) -> bool:
    """Whether pip can download anything at all; a tiny package tells."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "packaging"]
    return subprocess.run(command, capture_output=True, check=False, timeout=300).returncode == 0


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of the smallest release: NPUIFY_WHEELS, or downloaded with pip."""
    given = os.environ.get("NPUIFY_WHEELS")
    if given:
        folder = Path(given)
        if download.find_wheel(folder, "torch-npu", SMALLEST) and download.find_wheel(folder, "torch", "2.1.0"):
            return folder
    folder = tmp_path_factory.mktemp("wheels")
    try:
        download.download("torch-npu", SMALLEST, download.torch_platforms("2.1.0"), folder)
        download.download("torch", "2.1.0", download.torch_platforms("2.1.0"), folder)
    except NpuifyError as error:
        if _index_answers(folder):
            raise
        pytest.skip(f"the package index cannot be reached, and NPUIFY_WHEELS names no folder with the wheels: {error}")
    return folder
