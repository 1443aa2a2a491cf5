"""Find the two wheels of a release: in a folder, or with ``pip download``, so that the user's index settings hold."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

_LINUX = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
_MACOS = ("macosx_14_0_arm64", "macosx_11_0_arm64")
_PYTHON = ("--only-binary=:all:", "--python-version", "3.10", "--implementation", "cp", "--abi", "cp310")
_CUDA_ON_LINUX = Version("2.11")
"""From this torch on the Linux wheels for ARM contain CUDA and are four times the size of those for macOS.
The Python files are the same, and only those are read."""


def torch_platforms(version: str) -> tuple[str, ...]:
    """The platform tags of the smallest torch wheel whose Python files can be read."""
    return _MACOS if Version(version) >= _CUDA_ON_LINUX else _LINUX


def find_wheel(folder: Path, project: str, version: str) -> Path | None:
    """The wheel of ``project`` and ``version`` in ``folder``; of several the one whose name sorts first."""
    wanted = re.sub(r"[-_.]+", "_", project).lower()
    for path in sorted(folder.glob("*.whl")):
        parts = path.name.split("-")
        if len(parts) < 5 or parts[0].lower() != wanted:
            continue
        try:
            if Version(parts[1]) == Version(version):
                return path
        except InvalidVersion:
            continue
    return None


def download(project: str, version: str, platforms: tuple[str, ...], folder: Path) -> Path:
    """Download one wheel without its dependencies into ``folder``.

    Raises:
        NpuifyError: pip failed; the message holds the last line it wrote.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *_PYTHON]
    for platform in platforms:
        command += ["--platform", platform]
    command.append(f"{project}=={version}")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    path = find_wheel(folder, project, version)
    if result.returncode != 0 or path is None:
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        raise NpuifyError(
            phrase(
                "pip could not download {project} {version}: {said}",
                project=project,
                version=version,
                said=lines[-1] if lines else phrase("no message"),
            ),
            advice="Check the version and the package index that pip is set to use, or give a folder with --wheels.",
        )
    return path


def obtain(project: str, version: str, platforms: tuple[str, ...], wheels: Path | None, folder: Path) -> Path:
    """The wheel from ``wheels`` if that is given, else downloaded into ``folder``."""
    if wheels is None:
        return download(project, version, platforms, folder)
    path = find_wheel(wheels, project, version)
    if path is None:
        raise NpuifyError(
            phrase("there is no wheel of {project} {version} in this folder", project=project, version=version),
            file=str(wheels),
        )
    return path
